/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_event.h: helpers for all modules that apply records: a new event of the stream, its time
 * and its site.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_APPLY_EVENT_H
#define SHINY_APPLY_EVENT_H

#include "../state/output.h"
#include "../state/session_stream.h"

/* Returns the event's own time in ns, also for late ones: the analyses compare it with the times of
 * forks (analysis/replay/replay.c). */
static inline uint64_t apply_ns(const struct output *output, const struct stream *s)
{
	return __builtin_expect(s->head.time <= output->applied_until, 0)
		       ? ticks_ns_then(&output->ticks, s->head.time)
		       : ticks_ns(&output->ticks, s->head.time);
}

static inline struct event *apply_emit(struct output *output, const struct stream *s, uint64_t ns,
				       uint8_t kind)
{
	struct event *e;

	if (output->next_event == output->events_end)
		output_make_room(output);
	e = output->next_event++;
	*e = (struct event){ .time = ns,
			     .address = s->head.address,
			     .size = s->head.size,
			     .process = s->process->id,
			     .thread = s->thread.id,
			     .kind = kind,
			     .api = s->head.api,
			     .tag = s->tag,
			     .level = s->level };
	return e;
}

/* Returns the stream's definition of a stack; NULL: it has none. */
static inline struct stream_stack *apply_defined(struct stream *s, uint32_t stack)
{
	struct stream_stack *defined = stack ? stream_stacks_at(&s->stacks, stack) : NULL;

	if (defined && defined->stack)
		return defined;
	if (stack)
		s->process->noticed.void_stacks++;
	return NULL;
}

/* Returns the session-wide id of a stream's stack; 0: none. */
static inline uint32_t apply_stack_id(struct stream *s, uint32_t stack)
{
	const struct stream_stack *defined = apply_defined(s, stack);

	return defined ? defined->stack : 0;
}

/* Returns the flags of a new block of the stream that tell its sample's level. */
static inline unsigned apply_level(const struct stream *s)
{
	return (unsigned)s->level << ENTRY_LEVEL_SHIFT;
}

/* Returns the site of a new block, which has the tag of the allocating thread. */
static inline uint32_t apply_birth_site(struct stream *s, uint32_t stack)
{
	struct stream_stack *defined = apply_defined(s, stack);
	struct stats *stats = &s->process->stats;
	uint32_t site = 0;

	if (defined && s->process->within) { /* the definition's is that of the blocks' process */
		site = stats_site(stats, defined->stack);
	} else if (defined) {
		if (!defined->site)
			defined->site = stats_site(stats, defined->stack) + 1;
		site = defined->site - 1;
	}
	return s->tag ? stats_tagged(stats, site, s->tag) : site;
}

#endif
