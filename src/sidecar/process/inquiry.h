/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inquiry.h: what /proc is asked of a process of a ring: which pid it has, what it calls itself,
 * and whether exec has replaced it.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one; /proc is read in that of errands.h.
 *
 * The sidecar believes only what /proc proves (identity.h). It does not watch a process with an
 * unknown pid, and takes its chunks only when nobody maps the ring any more: taking a chunk from a
 * living writer would corrupt it. An answer of /proc may come late; it still gives the process its
 * name, even after its end.
 */
#ifndef SHINY_INQUIRY_H
#define SHINY_INQUIRY_H

#include "../state/session.h"

/* Asks, unless an answer is on its way. `wall` ns. */
void process_inquire(struct session *session, struct process *process, uint64_t wall);

#endif
