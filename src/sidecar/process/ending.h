/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ending.h: decides that a process of a ring has ended, and closes its slot and its streams.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * A pidfd tells; an exec that brought a new ring under the same pid tells; and the ring's lock
 * tells at the latest. A process that has ended is `gone`, its records are still read; it is closed
 * when they are, and settled (settle.h) when no child can be heard of any more that inherits its
 * blocks.
 */
#ifndef SHINY_ENDING_H
#define SHINY_ENDING_H

#include "../state/session.h"

/* Its last word was a call of exec: what runs under its pid now is another program, or nothing. */
bool process_called_exec(const struct process *process);

/* It cannot run any more. */
void process_end(struct session *session, struct process *process);
/* The same; `time` of its end, ticks, where it did not say so itself. */
void process_end_at(struct session *session, struct process *process, uint64_t time);

/* Takes in which processes have announced their end: in time for the order of events. */
void process_look_for_ends(struct session *session);

/* It is gone and drained: its slot is given back, and it is not of `running` any more. */
void process_close(struct session *session, struct process *process);
/*
 * After a commit: those that are closed give their slots back. Before, their chunks may have to be
 * put back (intake/uncommitted.h), and a chunk is its process's by the slot.
 */
void process_free_slots(struct session *session);

#endif
