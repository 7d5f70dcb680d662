/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_peak.h: the most that the processes of a filter held at once, and when, from the events:
 * `shinyctl help definitions`.
 *
 * Runs: CLI. Signals: no. Allocates: 17 bytes a process. Threads: one a store.
 *
 * An observer of lives, for who goes through them anyway, and a pass of its own for who does not.
 * peak.h knows what a peak was made of, too.
 */
#ifndef SHINY_LIVE_PEAK_H
#define SHINY_LIVE_PEAK_H

#include "replay.h"
#include "process_ends.h"

struct live_amount {
	uint64_t blocks, bytes;
};
struct live_peak {
	struct live_amount now, most; /* of all that run */
	uint64_t time;                /* of `most`, ns */
	uint64_t clock;               /* of what was last told */
	struct live_amount *own;      /* by process id - 1 */
	bool *left;                   /* it has ended before the session's end */
	struct process_ends ends;
};

/* `peak`: all zeros. */
struct replay_observer live_peak_observer(struct live_peak *peak);
void live_peak_deinit(struct live_peak *peak);

/* In a pass of its own. `title`: for the progress line; NULL none. */
SHINY_MUST_CHECK struct shiny_err *live_peak_load(struct store *store, const struct filter *filter,
						  const char *title, uint64_t *bytes,
						  uint64_t *time);

#endif
