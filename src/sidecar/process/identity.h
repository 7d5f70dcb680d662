/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.h: finds the process of /proc that holds a process slot of a ring.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: any.
 */
#ifndef SHINY_IDENTITY_H
#define SHINY_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../base/mem.h"
#include "../proc/proc.h"

struct people;
struct process;
struct ticks;

/* A process to be found: copies of all that is known of it, and the result. */
struct identity {
	uint32_t slot, generation, namespace_pid;
	uint32_t parent;      /* pid, 0 unknown */
	bool ours;            /* it has our pid namespace */
	bool elsewhere;       /* it may be in another namespace, or has no known pid */
	uint64_t from, until; /* ns, CLOCK_BOOTTIME: it started between */
	VEC(uint32_t) taken;  /* pids of the other living processes of its ring */
	char *path, *executable; /* the ring's */
	dev_t device;
	ino_t inode;
	uint64_t self_at;

	/*
	 * YES: it is `pid`. NO: it certainly does not run any more. UNKNOWN: `pid` is the likeliest
	 * process, or 0.
	 */
	enum proc_answer answer;
	uint32_t pid;
	uint32_t innermost; /* with YES: its pid in its own namespace, 0 unknown */
	int pidfd;          /* with YES: owned by the caller; -1 none */
	bool ended;         /* with YES: it has ended since */
};

/* Prepares the search for `process`, whose parent is `parent` (NULL: unknown, or not of this
 * ring). */
void identity_begin(struct identity *identity, const struct people *people,
		    const struct ticks *ticks, const struct process *process,
		    const struct process *parent);
/* Searches the process; callable in any thread. */
void identity_find(struct identity *identity);
void identity_deinit(struct identity *identity); /* does not close the pidfd */

#endif
