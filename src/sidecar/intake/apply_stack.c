/* SPDX-License-Identifier: Apache-2.0 */
/* apply_stack.c: see apply_stack.h. */
#include "apply_stack.h"

#include <string.h>

/* Decodes the stack at the head into s->defined. Frames [*from, *behind) are those of the last
 * definition. False: it refers to a definition that this chunk does not have. */
static bool define(struct stream *s, uint32_t *from, uint32_t *behind)
{
	uint64_t fresh[SHINY_FRAMES_MAX], kept[SHINY_FRAMES_MAX];
	bool like = s->head.kind == SHINY_REC_STACK_LIKE;
	uint64_t aux = s->head.size;
	uint32_t count = like ? SHINY_LIKE_FRAMES(aux) : (uint32_t)aux,
		 inner = like ? SHINY_LIKE_INNER(aux) : count;
	uint32_t skip = like ? SHINY_LIKE_SKIP(aux) : 0, shared = like ? SHINY_LIKE_KEPT(aux) : 0;

	if (skip + shared > s->defined_count) {
		s->defined_count = 0;
		return false;
	}
	decode_payload(&s->head, fresh, sizeof(fresh));
	memcpy(kept, s->defined + skip, shared * sizeof(*kept));
	memmove(s->defined_frames + inner, s->defined_frames + skip,
		shared * sizeof(*s->defined_frames));
	memcpy(s->defined, fresh, inner * sizeof(*fresh));
	memcpy(s->defined + inner, kept, shared * sizeof(*kept));
	memcpy(s->defined + inner + shared, fresh + inner,
	       (count - inner - shared) * sizeof(*fresh));
	s->defined_count = count;
	*from = inner;
	*behind = inner + shared;
	return true;
}

/* Sets the frames' ids in s->defined_frames; [from, behind) has them already, if the map is still
 * the same. */
static void name_frames(struct output *output, struct stream *s, uint32_t from, uint32_t behind)
{
	struct space *space = &s->process->space;

	if (s->defined_changes != space->changes)
		from = behind = 0;
	for (uint32_t i = 0; i < s->defined_count; i++)
		if (i < from || i >= behind)
			s->defined_frames[i] = space_frame(space, &output->ids, s->defined[i]);
	s->defined_changes = space->changes;
}

void apply_stack(struct output *output, struct stream *s)
{
	struct stream_stack **page;
	uint32_t from, behind;

	if (!define(s, &from, &behind)) {
		s->process->noticed.bad_records++;
		return;
	}
	name_frames(output, s, from, behind);
	if (!s->stacks)
		s->stacks = mem_zero(STACK_PAGES, sizeof(*s->stacks));
	page = &s->stacks[s->head.stack / STACK_PAGE];
	if (!*page)
		*page = mem_zero(STACK_PAGE, sizeof(**page));
	(*page)[s->head.stack % STACK_PAGE] =
		(struct stream_stack){ .stack = ids_stack(&output->ids, s->defined_frames,
							  s->defined_count) };
}
