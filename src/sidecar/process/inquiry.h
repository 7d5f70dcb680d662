/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inquiry.h: asks /proc about a process of a ring: its pid, its description of itself, and whether
 * exec has replaced it.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one; that of errands.h reads /proc.
 *
 * The sidecar believes only what /proc proves (identity.h). It does not watch a process with an
 * unknown pid, and takes its chunks only when no process maps the ring any more: taking a chunk
 * from a live writer would corrupt it. An answer of /proc may be late; it still gives the process
 * its name, even after its end.
 */
#ifndef SHINY_INQUIRY_H
#define SHINY_INQUIRY_H

#include "../state/session.h"

/* Asks, unless an answer is pending. `wall`: ns. */
void process_inquire(struct session *session, struct process *process, uint64_t wall);

#endif
