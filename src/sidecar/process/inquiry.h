/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inquiry.h: what /proc is asked of a process of a ring: which pid it has, what it calls itself,
 * and whether exec has replaced it.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one; /proc is read in that of errands.h.
 *
 * Only what /proc proves is believed (identity.h): a process whose pid cannot be told is not
 * watched, and its chunks stay its own until nobody maps the ring any more, because taking a chunk
 * from a living writer would corrupt it. What /proc says may come late: it is taken in then, for
 * the process's name even when it has ended.
 */
#ifndef SHINY_INQUIRY_H
#define SHINY_INQUIRY_H

#include "../state/session.h"

/* Asks, unless an answer is on its way. `wall` ns. */
void process_inquire(struct session *session, struct process *process, uint64_t wall);

#endif
