/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.h: which process of /proc holds a process slot of a ring.
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

struct process;
struct session;

/* A process that is looked for: all that is known of it, copied, and what was found. */
struct identity {
	uint32_t slot, generation, namespace_pid;
	uint32_t parent;      /* pid, 0 unknown */
	bool ours;            /* it counts as we do */
	bool elsewhere;       /* it may live in a namespace, or has no number at all */
	uint64_t from, until; /* ns, CLOCK_BOOTTIME: it was born between */
	VEC(uint32_t) taken;  /* pids of the other living processes of its ring */
	char *path, *executable; /* of the ring */
	dev_t device;
	ino_t inode;
	uint64_t self_at;

	/*
	 * YES: `pid` is it. NO: it does not run any more, for sure. UNKNOWN: it cannot be told;
	 * `pid` is the likeliest, or 0.
	 */
	enum proc_answer answer;
	uint32_t pid;
	uint32_t innermost; /* where it is: the number that it has itself, 0 unknown */
	int pidfd;          /* likewise, -1 none */
	bool ended;         /* likewise: it has ended since */
};

/* For `process`, whose parent is `parent` (NULL: not known, or not of this ring). */
void identity_begin(struct identity *identity, const struct session *session,
		    const struct process *process, const struct process *parent);
/* Looks for it, in any thread. */
void identity_find(struct identity *identity);
void identity_deinit(struct identity *identity); /* not the pidfd */

#endif
