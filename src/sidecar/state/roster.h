/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roster.h: finds any process that a session has had, by its slot or its pid.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * A build or a script starts thousands of processes, and for each new one the sidecar looks up its
 * parent and the image that it replaced. Both take as long for the ten thousandth as for the first.
 */
#ifndef SHINY_ROSTER_H
#define SHINY_ROSTER_H

#include <stdint.h>

#include "../../base/hash_table.h"
#include "../../base/mem.h"

struct ring_file;
struct process;

struct roster {
	VEC(struct process *) list; /* process id - 1 → process */
	struct hash_table slots, pids;
};

void roster_deinit(struct roster *roster);
/* Adds a process, whose id (one more than the last), ring, slot, generation and pid are set. */
void roster_add(struct roster *roster, struct process *process);
/* Counts a process that is not to be found, as its id is one more than the last. */
void roster_skip(struct roster *roster, struct process *process);
/* Sets or changes its pid: the likeliest one until it is certain. */
void roster_name(struct roster *roster, struct process *process, uint32_t pid);

/* Returns the process of a slot; NULL: none was seen. */
struct process *roster_find(const struct roster *roster, const struct ring_file *ring,
			    uint32_t slot, uint32_t generation);
/* Returns the image that ran under this pid at `time` (ticks), except `except`; NULL: none is
 * known. */
struct process *roster_before(const struct roster *roster, uint32_t pid, uint64_t time,
			      const struct process *except);

#endif
