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
#include "../proc/priority.h"
#include "../ring/ring_file.h"
#include "output.h"
#include "roster.h"
#include "sidecar_options.h"

struct accesses;
struct answers;
struct errands;
struct heartbeat;
struct guests;
struct mappings_watch;
struct snapshot_queue;
struct snapshot_taker;
struct page_uses;
struct spill;
struct start;
struct resolve_ahead;
struct watches;

/* A chunk that was read and released since the last commit (intake/uncommitted.h). */
struct read_chunk {
	struct ring_file *ring;
	struct shiny_chunk *copy; /* its first `bytes`; the others are zeros */
	uint64_t word;		  /* its state in the ring */
	uint32_t bytes, room;	  /* room: records that fit into it */
};

struct session {
	const struct sidecar_options *options;
	struct output output;
	struct sym_options symbols;  /* for the two symbolizers */
	struct resolve_ahead *ahead; /* NULL: call sites are typed at the end only */
	struct mappings_watch *memory;
	struct answers *answers;	      /* NULL: no process is answered */
	struct guests *guests;		      /* NULL: there are none */
	struct heartbeat *heartbeat;	      /* only while rings are drained; else NULL */
	struct errands *errands;	      /* NULL: the loop runs them itself */
	struct accesses *accesses;	      /* NULL: none can be recorded */
	struct watches *watches;	      /* NULL: off */
	struct page_uses *page_uses;	      /* NULL: off */
	struct snapshot_queue *asked;	      /* NULL: no request for a heap snapshot yet */
	struct snapshot_taker *snapshots;     /* NULL: not served yet */
	struct spill *spill;		      /* NULL: chunks are read in their rings only */
	uint8_t boot_id[16];		      /* of the running system */
	uint64_t pid_namespace;		 /* inode of our own; 0 unknown */
	VEC(struct ring_file *) rings;	 /* all that the session has had */
	VEC(struct ring_file *) present; /* those whose file still exists */
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
	VEC(struct stream *) streams; /* being read */
	VEC(struct start) starts;     /* not answered by a ring yet */
	struct priority priority;
	uint32_t threads;
	bool behind;		/* the last round was cut: there are more records up to its T */
	uint64_t looked;	/* ticks of the last look for rings, which found all older ones; 0:
				 * none yet */
	/*
	 * Ticks; no honest record read so far can be later. drain_pull reads the clock again before
	 * it calls a record a lie.
	 */
	uint64_t latest;
	uint64_t next_fork;    /* fork_at of the earliest pending fork, UINT64_MAX none */
	uint64_t torn_pages;   /* at the last check of the rings */
	struct sidecar_ended launched; /* pid 0: no message */
	bool paused;		       /* recording was off in some ring at some time */
	VEC(struct read_chunk) uncommitted;
	VEC(struct process *) slots_due; /* closed, but their slots are not freed yet */
	uint64_t uncommitted_bytes;
	uint64_t committed;   /* committed events */
	unsigned write_tries; /* tries of failed writes since the last commit */
	bool given_up;	      /* failed writes are not tried again */
};

/* Shows waiting programs that the sidecar makes progress. */
void session_beat(struct session *session);

#endif
