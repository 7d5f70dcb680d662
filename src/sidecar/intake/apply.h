/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.h: what the modules that apply records share: apply.c for the allocator's blocks,
 * apply_object.c for the garbage collector's, apply_class.c for objects with constructors,
 * apply_tag.c for what the program says itself.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_APPLY_H
#define SHINY_APPLY_H

#include "../state/session.h"

/* Late ones as they would have been in time: whether a fork lies before or behind them is told by
 * these nanoseconds (analysis/lives.c). */
static inline uint64_t apply_ns(const struct session *session, const struct stream *s)
{
	return __builtin_expect(s->head.time <= session->applied_until, 0)
		       ? ticks_ns_then(&session->ticks, s->head.time)
		       : ticks_ns(&session->ticks, s->head.time);
}

static inline struct event *apply_emit(struct session *session, const struct stream *s, uint64_t ns,
				       uint8_t kind)
{
	struct event *e;

	if (session->event_count == EVENT_BATCH)
		session_flush_events(session);
	e = &session->events[session->event_count++];
	*e = (struct event){ .time = ns,
			     .address = s->head.address,
			     .size = s->head.size,
			     .process = s->process->id,
			     .thread = s->id,
			     .kind = kind,
			     .api = s->head.api,
			     .tag = s->tag };
	return e;
}

static inline uint32_t apply_site(struct stream *s, uint32_t stack)
{
	uint32_t *page = stack && s->stacks ? s->stacks[stack / STACK_PAGE] : NULL;

	if (page && page[stack % STACK_PAGE])
		return page[stack % STACK_PAGE] - 1;
	if (stack)
		s->process->noticed.void_stacks++;
	return 0;
}

/* The same for a block that begins: its tag is that of who makes it. */
static inline uint32_t apply_birth_site(struct stream *s, uint32_t stack)
{
	uint32_t site = apply_site(s, stack);

	return s->tag ? stats_tagged(&s->process->stats, site, s->tag) : site;
}

/* A block that has left the registry has ended, at the head's time. */
void apply_block_ended(struct session *session, struct stream *s, const struct entry *entry,
		       enum block_end how, uint64_t ns);
/* False: no registry can take it. */
bool apply_block_began(struct session *session, struct stream *s, const struct entry *entry,
		       uint64_t ns);

/* ---- apply_object.c ---- */
void apply_object(struct session *session, struct stream *s);
void apply_finalized(struct session *session, struct stream *s);
void apply_swept(struct session *session, struct stream *s);
void apply_moved(struct session *session, struct stream *s, uint64_t from, uint64_t to);
void apply_resized(struct session *session, struct stream *s);
void apply_object_kinds(struct stream *s);
/* Memory of a heap went back to the system: what lay there has ended. */
void apply_released(struct session *session, struct stream *s, uint64_t start, uint64_t end);

/* ---- apply_tag.c ---- */
void apply_tag(struct stream *s);
void apply_tag_name(struct session *session, struct stream *s);
void apply_mark(struct session *session, struct stream *s);

/* ---- apply_class.c ---- */
void apply_class(struct session *session, struct stream *s);
void apply_constructor(struct session *session, struct stream *s, uint8_t kind);

#endif
