/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_peak.h: finds the most bytes that the filter's processes held at once, and when, from the
 * events: `shinyctl help definitions`.
 *
 * Runs: CLI. Signals: no. Allocates: 17 bytes a process. Threads: one a store.
 *
 * It is an observer for a caller that has a pass, and a pass of its own for one that has none.
 * peak.h also finds the blocks of a peak.
 */
#ifndef SHINY_LIVE_PEAK_H
#define SHINY_LIVE_PEAK_H

#include "replay.h"
#include "process_ends.h"

struct live_amount {
	uint64_t blocks, bytes;
};
struct live_peak {
	struct live_amount now, most; /* of all running processes */
	uint64_t time;                /* of `most`, ns */
	uint64_t clock;               /* time of the last event */
	struct live_amount *own;      /* process id - 1 → its amount */
	bool *left;                   /* process id - 1 → it ended before the session's end */
	struct process_ends ends;
};

/* `peak` must be all zeros. */
struct replay_observer live_peak_observer(struct live_peak *peak);
void live_peak_deinit(struct live_peak *peak);

/* Finds the peak in a pass of its own. `title`: of the progress line; NULL: none. */
SHINY_MUST_CHECK struct shiny_err *live_peak_load(struct store *store, const struct filter *filter,
						  const char *title, uint64_t *bytes,
						  uint64_t *time);

#endif
