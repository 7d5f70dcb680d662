/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_ends.h: lists the processes that end before the session's end, in order, for observers
 * that count live blocks: the replay reports no end of a process, but its blocks are abandoned
 * then. Blocks of other processes stay live: `shinyctl help definitions`.
 *
 * Runs: CLI. Signals: no. Allocates: 4 bytes a process. Threads: one.
 *
 * An observer's moment() takes all that have ended by now, and returns at most process_ends_time()
 * as its next moment.
 */
#ifndef SHINY_PROCESS_ENDS_H
#define SHINY_PROCESS_ENDS_H

#include "replay.h"

struct process_ends {
	uint32_t *order; /* ids; the last `late` ones have events behind their end in the file: they
			  * stay until the session's end */
	size_t count, next, late;
};

/* Lists the ends of the filter's processes. */
void process_ends_init(struct process_ends *ends, const struct replay *replay);
/* Returns the time of the next end; UINT64_MAX: none. */
uint64_t process_ends_time(const struct process_ends *ends, const struct replay *replay);
/* Returns a process that ended at or before `moment`, each once; NULL: no more. */
const struct replay_process *process_ends_take(struct process_ends *ends,
					       const struct replay *replay, uint64_t moment);
void process_ends_deinit(struct process_ends *ends);

#endif
