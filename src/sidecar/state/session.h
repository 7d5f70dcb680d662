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
#include "../../base/texts.h"
#include "../../store/store.h"
#include "../proc/priority.h"
#include "../ring/ring_file.h"
#include "classes.h"
#include "ids.h"
#include "roster.h"
#include "session_process.h"
#include "session_stream.h"
#include "sidecar_options.h"
#include "../ring/ticks.h"
#include "total.h"

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

/* The end of a block with ENTRY_WATCHED, at `time` (ticks). */
struct watched_end {
	uint32_t process;
	bool moved; /* by realloc */
	uint64_t time;
	struct entry entry;
};

/* A chunk that was read and released since the last commit (intake/uncommitted.h). */
struct read_chunk {
	struct ring_file *ring;
	struct shiny_chunk *copy; /* its first `bytes`; the others are zeros */
	uint64_t word;		  /* its state in the ring */
	uint32_t bytes, room;	  /* room: records that fit into it */
};

struct session {
	const struct sidecar_options *options;
	struct store *store;
	struct sym_options symbols;  /* for the two symbolizers */
	struct resolve_ahead *ahead; /* NULL: call sites are typed at the end only */
	struct mappings_watch *memory;
	struct answers *answers;	      /* NULL: no process is answered */
	struct guests *guests;		      /* NULL: there are none */
	struct heartbeat *heartbeat;	      /* only while rings are drained; else NULL */
	struct errands *errands;	      /* NULL: the loop runs them itself */
	struct accesses *accesses;	      /* NULL: none can be recorded */
	struct watches *watches;	      /* NULL: off */
	VEC(struct watched_end) watched_ends; /* for `watches` */
	struct page_uses *page_uses;	      /* NULL: off */
	struct snapshot_queue *asked;	      /* NULL: no request for a heap snapshot yet */
	struct snapshot_taker *snapshots;     /* NULL: not served yet */
	VEC(struct store_root) variables;     /* roots of snapshots that have no names yet */
	bool has_snapshots;
	struct spill *spill; /* NULL: chunks are read in their rings only */
	char *path;
	struct ticks ticks;
	bool ticks_known;
	uint8_t boot_id[16]; /* of the running system */
	struct ids ids;
	struct classes classes;
	struct texts tags;		 /* names; index + 1 is the id in table tag */
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
	uint64_t start_realtime;
	uint64_t applied_until; /* T of the last round; less if that was cut */
	bool behind;		/* the last round was cut: there are more records up to its T */
	uint64_t looked;	/* ticks of the last look for rings, which found all older ones; 0:
				 * none yet */
	/*
	 * Ticks; no honest record read so far can be later. drain_pull reads the clock again before
	 * it calls a record a lie.
	 */
	uint64_t latest;
	uint64_t next_fork; /* fork_at of the earliest pending fork, UINT64_MAX none */
	struct total total; /* live bytes of all processes */
	uint64_t total_events, allocs, frees;
	uint64_t pages_beyond; /* pages of blocks live at processes' ends, beyond each process's
				* number */
	uint64_t torn_pages;   /* at the last check of the rings */
	struct sidecar_ended launched; /* pid 0: no message */
	bool paused;		       /* recording was off in some ring at some time */
	uint64_t unrecorded;	       /* number of unrecorded programs */
	/* Events are written where the store packs them: those from `events` to `next_event` are
	 * new. */
	struct event *events, *next_event, *events_end;
	struct event unkept[64]; /* scratch space, if there is no store */
	struct shiny_err *err;	 /* the store failed: the first reason */
	struct noticed noticed;	 /* counts of no process */
	VEC(struct read_chunk) uncommitted;
	VEC(struct process *) slots_due; /* closed, but their slots are not freed yet */
	uint64_t uncommitted_bytes;
	uint64_t committed;   /* committed events */
	unsigned write_tries; /* tries of failed writes since the last commit */
	bool given_up;	      /* failed writes are not tried again */
	/* number of rows that the store has */
	size_t modules_written, frames_written, stacks_written, vtables_written, classes_written;
	size_t tags_written;
	uint64_t counted; /* as in struct process */
};

/* Remembers the first error; frees others. */
void session_fail(struct session *session, struct shiny_err *err);
/* Passes the events to the store; call before it commits or ends. */
void session_flush_events(struct session *session);
/* Does the same, and makes room for more; call when `next_event` is at the end. */
void session_make_room(struct session *session);
/* Shows waiting programs that the sidecar makes progress. */
void session_beat(struct session *session);
/* Writes a process's present row; does nothing without a store. */
void session_put_process(struct session *session, const struct process *process);
/* Writes a thread's row; `end`: ticks, 0: it has not ended. */
void session_put_stream(struct session *session, struct stream *stream, uint64_t end);
/* Returns the id of a tag, adding it if necessary. */
uint32_t session_tag(struct session *session, const char *name);

#endif
