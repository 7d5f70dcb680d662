/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_ends.h: processes that end before the session's end, in that order: for observers of
 * lives that keep count of what is live, as nobody tells them of a process's end, and what it held
 * is abandoned then. What the others held stays live: `shinyctl help definitions`.
 *
 * Runs: CLI. Signals: no. Allocates: 4 bytes a process. Threads: one.
 *
 * In an observer's moment(): take all that have ended by now, and ask for process_ends_time() as a
 * next moment.
 */
#ifndef SHINY_PROCESS_ENDS_H
#define SHINY_PROCESS_ENDS_H

#include "replay.h"

struct process_ends {
	uint32_t *order; /* ids; behind those of all, of ones whose events come later in the file
	                  * than their end: they stay until the session's */
	size_t count, next, late;
};

/* Ends of the filter's processes. */
void process_ends_init(struct process_ends *ends, const struct replay *replay);
/* When the next one ends; UINT64_MAX: none does. */
uint64_t process_ends_time(const struct process_ends *ends, const struct replay *replay);
/* One that has ended at or before `moment`, each once; NULL: no more. */
const struct replay_process *process_ends_take(struct process_ends *ends,
					       const struct replay *replay, uint64_t moment);
void process_ends_deinit(struct process_ends *ends);

#endif
