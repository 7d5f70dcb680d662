/* SPDX-License-Identifier: Apache-2.0 */
/* stream_stacks.c: see stream_stacks.h. */
#include "stream_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../ring/record_decode.h"
#include "ids.h"
#include "space.h"

/* Decodes the stack of a record into `stacks->latest`. Frames [*from, *behind) are those of the
 * last definition. False: it refers to a definition that this chunk does not have. */
static bool decode(struct stream_stacks *stacks, const struct raw *raw, uint32_t *from,
		   uint32_t *behind)
{
	uint64_t fresh[SHINY_FRAMES_MAX], kept[SHINY_FRAMES_MAX];
	bool like = raw->kind == SHINY_REC_STACK_LIKE;
	uint64_t aux = raw->size;
	uint32_t count = like ? SHINY_LIKE_FRAMES(aux) : (uint32_t)aux,
		 inner = like ? SHINY_LIKE_INNER(aux) : count;
	uint32_t skip = like ? SHINY_LIKE_SKIP(aux) : 0, shared = like ? SHINY_LIKE_KEPT(aux) : 0;

	if (skip + shared > stacks->count) {
		stacks->count = 0;
		return false;
	}
	decode_payload(raw, fresh, sizeof(fresh));
	memcpy(kept, stacks->latest + skip, shared * sizeof(*kept));
	memmove(stacks->frames + inner, stacks->frames + skip, shared * sizeof(*stacks->frames));
	memcpy(stacks->latest, fresh, inner * sizeof(*fresh));
	memcpy(stacks->latest + inner, kept, shared * sizeof(*kept));
	memcpy(stacks->latest + inner + shared, fresh + inner,
	       (count - inner - shared) * sizeof(*fresh));
	stacks->count = count;
	*from = inner;
	*behind = inner + shared;
	return true;
}

/* Sets the ids of the latest stack's frames; [from, behind) have them already, if the map is still
 * the same. */
static void name_frames(struct stream_stacks *stacks, struct space *space, struct ids *ids,
			uint32_t from, uint32_t behind)
{
	if (stacks->changes != space->changes)
		from = behind = 0;
	for (uint32_t i = 0; i < stacks->count; i++)
		if (i < from || i >= behind)
			stacks->frames[i] = space_frame(space, ids, stacks->latest[i]);
	stacks->changes = space->changes;
}

static void set(struct stream_stacks *stacks, uint32_t number, uint32_t id)
{
	struct stream_stack **page;

	if (!stacks->pages)
		stacks->pages = mem_zero(STACK_PAGES, sizeof(*stacks->pages));
	page = &stacks->pages[number / STACK_PAGE];
	if (!*page)
		*page = mem_zero(STACK_PAGE, sizeof(**page));
	(*page)[number % STACK_PAGE] = (struct stream_stack){ .stack = id };
}

static bool is_ours(const struct ids *ids, uint32_t frame)
{
	uint32_t module = ids->frames.at[frame - 1].module;

	return module && ids->modules.at[module - 1].ours;
}

/*
 * Copies the frames but for the preloaded library's between an allocator's or a run time's function
 * and its caller: a hook's and its stub's, so always two. Returns how many. The frame in which a
 * thread starts stands alone, and stays.
 */
static uint32_t without_hooks(const struct stream_stacks *stacks, const struct ids *ids,
			      uint32_t out[SHINY_FRAMES_MAX])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < stacks->count; i++) {
		if (i + 1 < stacks->count && is_ours(ids, stacks->frames[i]) &&
		    is_ours(ids, stacks->frames[i + 1]))
			i++;
		else
			out[count++] = stacks->frames[i];
	}
	return count;
}

bool stream_stacks_define(struct stream_stacks *stacks, const struct raw *raw, struct space *space,
			  struct ids *ids)
{
	uint32_t from, behind, frames[SHINY_FRAMES_MAX], count;

	if (!decode(stacks, raw, &from, &behind))
		return false;
	name_frames(stacks, space, ids, from, behind);
	count = without_hooks(stacks, ids, frames);
	set(stacks, raw->stack, ids_stack(ids, frames, count));
	return true;
}

void stream_stacks_forget(struct stream_stacks *stacks)
{
	for (size_t i = 0; stacks->pages && i < STACK_PAGES; i++) {
		free(stacks->pages[i]);
		stacks->pages[i] = NULL;
	}
}

void stream_stacks_deinit(struct stream_stacks *stacks)
{
	stream_stacks_forget(stacks);
	free(stacks->pages);
}
