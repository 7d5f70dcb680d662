/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_events.h: every change of what is live, in the order of the session: for forms that are
 * streams of allocations and frees, and for maxima of single stacks.
 *
 * Runs: CLI. Signals: no. Allocates: what replay.h says, and 5 bytes a process. Threads: one a
 * store.
 *
 * Each block begins once, and ends once or remains. A block of a process that ended before the
 * session's end ends with its process, so that what remains is what `shinyctl help definitions`
 * calls live. Blocks that a fork brought along are in none of it. A realloc is an end and a
 * beginning.
 */
#ifndef SHINY_LIVE_EVENTS_H
#define SHINY_LIVE_EVENTS_H

#include "../analysis/replay/replay.h"

enum live_kind {
	LIVE_BEGINS,
	LIVE_RESIZED,
	LIVE_TYPED,   /* its type is another one from now on */
	LIVE_ENDS,
	LIVE_GONE,    /* ends with its process */
	LIVE_REMAINS, /* told at the end: it is live then */
};

struct live_event {
	enum live_kind kind;
	uint64_t time;		 /* ns since the session's start */
	uint64_t told;		 /* where it stands: not before what was told before it */
	uint64_t size, before;	 /* bytes; before: of LIVE_RESIZED, until now; of LIVE_TYPED, its
				  * type until now */
	const struct life *life;
	uint32_t freed_by;	 /* stack of the free; 0 unknown, or nobody freed it */
	uint32_t process, type; /* type: id in table type, as far as it is known then; 0 unknown */
};

typedef void live_event_fn(void *context, const struct live_event *event);
/* `by_place`: as in struct replay_observer. */
SHINY_MUST_CHECK struct shiny_err *live_events_each(struct store *store,
						    const struct filter *filter,
						    const char *title,
						    const struct replay_rows *by_place,
						    live_event_fn *each, void *context);

#endif
