/* SPDX-License-Identifier: Apache-2.0 */
/* apply_stack.c: see apply_stack.h. */
#include "apply_stack.h"

#include <string.h>

#include "../state/session_stream.h"

/* Decodes the stack at the head into `stacks->latest`. Frames [*from, *behind) are those of the
 * last definition. False: it refers to a definition that this chunk does not have. */
static bool define(struct stream_stacks *stacks, const struct raw *head, uint32_t *from,
		   uint32_t *behind)
{
	uint64_t fresh[SHINY_FRAMES_MAX], kept[SHINY_FRAMES_MAX];
	bool like = head->kind == SHINY_REC_STACK_LIKE;
	uint64_t aux = head->size;
	uint32_t count = like ? SHINY_LIKE_FRAMES(aux) : (uint32_t)aux,
		 inner = like ? SHINY_LIKE_INNER(aux) : count;
	uint32_t skip = like ? SHINY_LIKE_SKIP(aux) : 0, shared = like ? SHINY_LIKE_KEPT(aux) : 0;

	if (skip + shared > stacks->count) {
		stacks->count = 0;
		return false;
	}
	decode_payload(head, fresh, sizeof(fresh));
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
static void name_frames(struct output *output, struct space *space, struct stream_stacks *stacks,
			uint32_t from, uint32_t behind)
{
	if (stacks->changes != space->changes)
		from = behind = 0;
	for (uint32_t i = 0; i < stacks->count; i++)
		if (i < from || i >= behind)
			stacks->frames[i] = space_frame(space, &output->ids, stacks->latest[i]);
	stacks->changes = space->changes;
}

void apply_stack(struct output *output, struct stream *s)
{
	struct stream_stacks *stacks = &s->stacks;
	uint32_t from, behind;

	if (!define(stacks, &s->head, &from, &behind)) {
		s->process->noticed.bad_records++;
		return;
	}
	name_frames(output, &s->process->space, stacks, from, behind);
	stream_stacks_define(stacks, s->head.stack,
			     ids_stack(&output->ids, stacks->frames, stacks->count));
}
