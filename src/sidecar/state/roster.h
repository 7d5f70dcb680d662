/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roster.h: which process is meant, of all that a session has had: by the slot that it held, and by
 * its pid.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * A build or a script starts thousands of processes, and each new one asks for its parent and for
 * the image that it replaced. Both answers take as long for the ten thousandth as for the first.
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
/* Its id, which follows the one before, its ring, slot, generation and pid are filled in. */
void roster_add(struct roster *roster, struct process *process);
/* Fills in its pid, or another one: until it is certain, the likeliest. */
void roster_name(struct roster *roster, struct process *process, uint32_t pid);

/* NULL: nobody has been seen there. */
struct process *roster_find(const struct roster *roster, const struct ring_file *ring,
			    uint32_t slot, uint32_t generation);
/* The image that ran under this number at that time, ticks, but for `except`; NULL: none that is
 * known. */
struct process *roster_before(const struct roster *roster, uint32_t pid, uint64_t time,
			      const struct process *except);

#endif
