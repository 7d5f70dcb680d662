/* SPDX-License-Identifier: Apache-2.0 */
/* apply_stack.c: see apply_stack.h. */
#include "apply_stack.h"

#include <string.h>

/* The frames of the definition at the head, into s->defined. False: it leans on one that this chunk
 * does not have. */
static bool define(struct stream *s)
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
	memcpy(s->defined, fresh, inner * sizeof(*fresh));
	memcpy(s->defined + inner, kept, shared * sizeof(*kept));
	memcpy(s->defined + inner + shared, fresh + inner,
	       (count - inner - shared) * sizeof(*fresh));
	s->defined_count = count;
	return true;
}

void apply_stack(struct session *session, struct stream *s)
{
	uint32_t frames[SHINY_FRAMES_MAX], count;
	struct stream_stack **page;

	if (!define(s)) {
		s->process->noticed.bad_records++;
		return;
	}
	count = s->defined_count;
	for (uint32_t i = 0; i < count; i++)
		frames[i] = space_frame(&s->process->space, &session->ids, s->defined[i]);
	if (!s->stacks)
		s->stacks = mem_zero(STACK_PAGES, sizeof(*s->stacks));
	page = &s->stacks[s->head.stack / STACK_PAGE];
	if (!*page)
		*page = mem_zero(STACK_PAGE, sizeof(**page));
	(*page)[s->head.stack % STACK_PAGE] =
		(struct stream_stack){ .stack = ids_stack(&session->ids, frames, count) };
}
