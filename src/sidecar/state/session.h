/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h: what the sidecar knows of one session: its rings, processes and streams, the ids of
 * what they named, and the store that it writes.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * The rooms above change it; this module only writes rows that several of them have to write. It
 * knows the modules above as pointers that it hands on.
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
struct memory_watch;
struct snapshot_queue;
struct snapshot_taker;
struct page_uses;
struct spill;
struct start;
struct warm;
struct watches;

/* A block with ENTRY_WATCHED has ended, at `time` (ticks). */
struct watched_end {
	uint32_t process;
	bool moved; /* by realloc */
	uint64_t time;
	struct entry entry;
};

/* A chunk that was read and given back since the last commit (intake/uncommitted.h). */
struct read_chunk {
	struct ring_file *ring;
	struct shiny_chunk *copy; /* `bytes` of it, and zeros */
	uint64_t word;            /* its state in the ring */
	uint32_t bytes, room;     /* records that it had room for */
};

struct session {
	const struct sidecar_options *options;
	struct store *store;
	struct sym_options symbols; /* for the two symbolizers */
	struct warm *warm;          /* NULL: call sites are typed at the end only */
	struct memory_watch *memory;
	struct answers *answers; /* NULL: nobody gets any */
	struct guests *guests;   /* NULL: there are none */
	struct heartbeat *heartbeat; /* while rings are drained; NULL: otherwise */
	struct errands *errands; /* NULL: the loop runs them itself */
	struct accesses *accesses; /* NULL: none can be recorded */
	struct watches *watches; /* NULL: nobody asked which blocks are used */
	VEC(struct watched_end) watched_ends; /* for them */
	struct page_uses *page_uses; /* NULL: nobody asked which pages are touched */
	struct snapshot_queue *asked;     /* NULL: nobody has asked for a heap snapshot */
	struct snapshot_taker *snapshots; /* likewise */
	VEC(struct store_root) variables; /* roots of snapshots, which have no names yet */
	bool has_snapshots;
	struct spill *spill;     /* NULL: chunks are read in their rings only */
	char *path;
	struct ticks ticks;
	bool ticks_known;
	uint8_t boot_id[16]; /* this machine's, now */
	struct ids ids;
	struct classes classes;
	struct texts tags; /* names; their places + 1 are ids of table tag */
	uint64_t pid_namespace;          /* inode of our own; 0 unknown */
	VEC(struct ring_file *) rings;   /* all, for ever */
	VEC(struct ring_file *) present; /* those whose file is not removed */
	/*
	 * All processes, for ever; id = index + 1. What is done again and again is done for those
	 * of `running` and `ended` only: a build of ten thousand processes costs ten thousand times
	 * as much as one process.
	 */
	VEC(struct process *) processes;
	VEC(struct process *) running; /* not closed yet; of a session that is recovered, all */
	/* closed, and from `settled` on not settled yet; in the order of their closing */
	VEC(struct process *) ended;
	size_t settled;
	struct roster roster;
	VEC(struct stream *) streams; /* being read */
	VEC(struct start) starts;     /* that no ring has answered yet */
	struct priority priority;
	uint32_t threads;
	uint64_t start_realtime;
	uint64_t applied_until; /* T of the last round; less where that was cut */
	bool behind;            /* it was: there is more up to its T */
	uint64_t looked;        /* ticks: every ring that was there then is known; 0: no look yet */
	/*
	 * No honest record that has been read can be later. drain_pull reads the clock again
	 * before it calls one a lie.
	 */
	uint64_t latest;
	uint64_t next_fork; /* fork_at of the earliest pending fork, UINT64_MAX none */
	struct total total; /* what is live over all processes */
	uint64_t total_events, allocs, frees;
	uint64_t pages_beyond; /* of blocks live at processes' ends, beyond what each may have */
	uint64_t torn_pages;   /* when the rings were last looked at for it */
	struct sidecar_ended launched; /* pid 0: nobody has said it */
	bool paused;                   /* recording was off in some ring at some time */
	uint64_t unrecorded;           /* programs that were started and are not recorded */
	/* events are made where the store packs them: those since `events`, up to `next_event` */
	struct event *events, *next_event, *events_end;
	struct event unkept[64]; /* there, where no store takes them */
	struct shiny_err *err;  /* the store failed: the first reason */
	struct noticed noticed; /* what belongs to no process */
	VEC(struct read_chunk) uncommitted;
	VEC(struct process *) slots_due; /* closed, and not yet without their slots */
	uint64_t uncommitted_bytes;
	uint64_t committed;   /* events that are in the session file for good */
	unsigned write_tries; /* of what could not be written, since the last commit */
	bool given_up;        /* no write is tried again */
	/* how far the store has got */
	size_t modules_written, frames_written, stacks_written, vtables_written, classes_written;
	size_t tags_written;
	uint64_t counted; /* as in struct process */
};

/* Remembers the first error; frees others. */
void session_fail(struct session *session, struct shiny_err *err);
/* Hands the events to the store: before it commits or ends. */
void session_flush_events(struct session *session);
/* The same, and makes room for more, where `next_event` has come to its end. */
void session_make_room(struct session *session);
/* Programs that wait for the sidecar see that it makes progress. */
void session_beat(struct session *session);
/* The row of a process as it is now; nothing without a store. */
void session_put_process(struct session *session, const struct process *process);
/* The row of a thread; `end` in ticks, 0: it has not ended. */
void session_put_stream(struct session *session, struct stream *stream, uint64_t end);
/* The id of a tag. */
uint32_t session_tag(struct session *session, const char *name);

#endif
