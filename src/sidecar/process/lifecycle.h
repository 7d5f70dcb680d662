/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.h: creates, watches and destroys the processes of a ring.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_LIFECYCLE_H
#define SHINY_LIFECYCLE_H

#include "../state/session.h"

/* Returns the process that holds the slot in this generation, creating it if necessary; NULL: not
 * yet, or not any more. */
struct process *process_of(struct session *session, struct ring_file *ring, uint32_t slot,
			   uint32_t generation);
/* Returns the process of the second level for objects of api `heap` in the blocks of `within`,
 * creating it if necessary. */
struct process *process_heap(struct session *session, struct process *within, uint8_t heap);
/* Adds a process with ring, slot and id to the session's lists. */
void process_enlist(struct people *people, struct process *process);
void process_scan(struct session *session, struct ring_file *ring); /* creates the processes of new
                                                                     * slots */
/* Finds ended processes, roles, counters and names of threads. `wall` ns. */
void process_watch(struct session *session, uint64_t wall);
void process_destroy(struct process *process); /* accepts NULL */

#endif
