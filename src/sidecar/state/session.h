/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h: the state of one session: its rings, processes and streams, the ids of named objects,
 * and the store.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * The rooms above change it; this module only writes rows that several of them need. It has opaque
 * pointers to the modules above.
 */
#ifndef SHINY_SESSION_H
#define SHINY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../symbolizer/sym.h"
#include "../../base/mem.h"
#include "output.h"
#include "rings.h"
#include "roster.h"
#include "sidecar_options.h"

struct accesses;
struct answers;
struct errands;
struct mappings_watch;
struct snapshot_queue;
struct snapshot_taker;
struct page_uses;
struct start;
struct resolve_ahead;
struct watches;

struct session {
	const struct sidecar_options *options;
	struct output output;
	struct rings rings;
	struct sym_options symbols;  /* for the two symbolizers */
	struct resolve_ahead *ahead; /* NULL: call sites are typed at the end only */
	struct mappings_watch *memory;
	struct answers *answers;	      /* NULL: no process is answered */
	struct errands *errands;	      /* NULL: the loop runs them itself */
	struct accesses *accesses;	      /* NULL: none can be recorded */
	struct watches *watches;	      /* NULL: off */
	struct page_uses *page_uses;	      /* NULL: off */
	struct snapshot_queue *asked;	      /* NULL: no request for a heap snapshot yet */
	struct snapshot_taker *snapshots;     /* NULL: not served yet */
	uint64_t pid_namespace;		      /* inode of our own; 0 unknown */
	/*
	 * All processes that the session has had; id = index + 1. Repeated work is done only for
	 * those of `running` and `ended`: so a build of ten thousand processes costs ten thousand
	 * times as much as one process, not more.
	 */
	VEC(struct process *) processes;
	VEC(struct process *) running; /* not closed yet; in a recovery, all */
	/* closed, in this order; those from index `settled` on are not settled yet */
	VEC(struct process *) ended;
	size_t settled;
	struct roster roster;
	VEC(struct start) starts;	 /* not answered by a ring yet */
	uint64_t next_fork;		 /* fork_at of the earliest pending fork, UINT64_MAX none */
	struct sidecar_ended launched;	 /* pid 0: no message */
	VEC(struct process *) slots_due; /* closed, but their slots are not freed yet */
	uint64_t committed;   /* committed events */
	unsigned write_tries; /* tries of failed writes since the last commit */
	bool given_up;	      /* failed writes are not tried again */
};

#endif
