/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.h: processes of a ring begin, are watched, and go.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_LIFECYCLE_H
#define SHINY_LIFECYCLE_H

#include "../state/session.h"

/* The process that holds the slot in this generation; NULL: not yet, or not any more. */
struct process *process_of(struct session *session, struct ring_file *ring, uint32_t slot,
			   uint32_t generation);
/* Its ring, slot and id are filled in. */
void process_enlist(struct session *session, struct process *process);
void process_scan(struct session *session, struct ring_file *ring); /* new slots */
/* Finds ended processes, roles, counters and names of threads. `wall` ns. */
void process_watch(struct session *session, uint64_t wall);
void process_destroy(struct process *process); /* accepts NULL */

#endif
