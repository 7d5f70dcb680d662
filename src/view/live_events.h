/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_events.h: every change of the live blocks, in the session's order: for export formats that
 * are streams of allocations and frees, and for peaks of single stacks.
 *
 * Runs: CLI. Signals: no. Allocates: what replay.h says, and 5 bytes a process. Threads: one a
 * store.
 *
 * Each block begins once, and ends once or remains. A block of a process that ended before the
 * session's end ends with its process, so that what remains is what `shinyctl help definitions`
 * calls live. Blocks that a fork copied are left out. A realloc is an end and a beginning.
 */
#ifndef SHINY_LIVE_EVENTS_H
#define SHINY_LIVE_EVENTS_H

#include "../analysis/replay/replay.h"

enum live_kind {
	LIVE_BEGINS,
	LIVE_RESIZED,
	LIVE_TYPED,   /* its type changes */
	LIVE_ENDS,
	LIVE_GONE,    /* ends with its process */
	LIVE_REMAINS, /* at the end of the session: it is live then */
};

struct live_event {
	enum live_kind kind;
	uint64_t time;		 /* ns since the session's start */
	uint64_t told;		 /* ns; `time`, raised so that it never falls from event to event */
	uint64_t size, before;	 /* bytes of all `blocks`; before: of LIVE_RESIZED, the old
				  * size; of LIVE_TYPED, the old type */
	uint32_t blocks;	 /* so many equal ones: 1, but in a sample */
	const struct life *life;
	uint32_t freed_by;	 /* stack of the free; 0: unknown, or no free */
	uint32_t process, type; /* type: id in table type, as known then; 0: unknown */
};

typedef void live_event_fn(void *context, const struct live_event *event);
/* `by_place`: as in struct replay_observer. */
SHINY_MUST_CHECK struct shiny_err *live_events_each(struct store *store,
						    const struct filter *filter,
						    const char *title,
						    const struct replay_rows *by_place,
						    live_event_fn *each, void *context);

#endif
