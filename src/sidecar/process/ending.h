/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ending.h: decides that a process of a ring has ended, and closes its slot and its streams.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * A pidfd reports the end, or an exec that created a new ring under the same pid, or at the latest
 * the ring's lock. An ended process is `gone` while its records are still read; it is closed when
 * they are, and settled (settle.h) when no further child can appear that inherits its blocks.
 */
#ifndef SHINY_ENDING_H
#define SHINY_ENDING_H

#include "../state/output.h"
#include "../state/people.h"

/* True if its last call was exec: its pid now runs another program, or has ended. */
bool process_called_exec(const struct process *process);

/* Marks a process as gone: it cannot run any more. */
void process_end(struct people *people, struct output *output, struct process *process);
/* Does the same; `time` of its end, in ticks, if the process did not announce it. */
void process_end_at(struct people *people, struct output *output, struct process *process,
		    uint64_t time);

/* Reads which processes have announced their end, early enough for the order of events. */
void process_look_for_ends(const struct people *people, struct output *output);

/* Closes a process that is gone and drained: removes it from `running`; its slots are freed after
 * the next commit. */
void process_close(struct people *people, struct output *output, struct process *process);
/*
 * Call after a commit: frees the slots of closed processes. Before, their chunks may have to be put
 * back (intake/uncommitted.h), and a chunk names its process by the slot.
 */
void process_free_slots(struct people *people);

#endif
