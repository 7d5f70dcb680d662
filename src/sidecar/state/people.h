/* SPDX-License-Identifier: Apache-2.0 */
/*
 * people.h: the processes of a session: those that run, those that have ended, those that are
 * announced, and what asks the system about them.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_PEOPLE_H
#define SHINY_PEOPLE_H

#include "../../base/mem.h"
#include "roster.h"
#include "session_process.h"
#include "sidecar_options.h"

struct answers;
struct errands;
struct mappings_watch;
struct start;

struct people {
	uint64_t next_fork; /* fork_at of the earliest pending fork, UINT64_MAX none */
	/*
	 * All processes that the session has had; id = index + 1. Repeated work is done only for
	 * those of `running` and `ended`: so a build of ten thousand processes costs ten thousand
	 * times as much as one process, not more.
	 */
	VEC(struct process *) all;
	VEC(struct process *) running; /* not closed yet; in a recovery, all */
	/* closed, in this order; those from index `settled` on are not settled yet */
	VEC(struct process *) ended;
	size_t settled;
	VEC(struct process *) slots_due; /* closed, but their slots are not freed yet */
	struct roster roster;
	VEC(struct start) starts;      /* not answered by a ring yet */
	struct answers *answers;       /* NULL: no process is answered */
	struct errands *errands;       /* NULL: the loop runs them itself */
	struct mappings_watch *memory; /* samples their mapped memory */
	struct sidecar_ended launched; /* pid 0: no message */
	uint64_t pid_namespace;	       /* inode of our own; 0 unknown */
};

#endif
