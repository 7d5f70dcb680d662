/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h: what the sidecar knows: the session, its processes, their streams. Shared by the
 * modules of this room only.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 *   sidecar.c  the loop: rounds, new rings, the end           lifecycle.c  who a process is, its fork, its end
 *   drain.c      chunks → streams → one raw record at a time     apply*.c   one record in order → registry, stats, events
 *   finish.c     names and aggregates into the store              block_types.c    the type of every block
 *   resolve_ahead.c       types of call sites, while there is time       mappings.c   mappings and what of them is resident
 *   recover.c    an unfinished session file → a finished one   unrecorded.c  programs that are not recorded
 *   notices.c    which programs are started, and how children end
 *   errands.c    what is read of processes that may keep us waiting
 */
#ifndef SHINY_SESSION_H
#define SHINY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../symbolizer/sym.h"
#include "../../store/intern.h"
#include "../../store/store.h"
#include "../process/answers.h"
#include "../ring/ring_file.h"
#include "classes.h"
#include "../sidecar.h"
#include "../ring/record_decode.h"
#include "../proc/errands.h"
#include "../proc/priority.h"
#include "../ring/guests.h"
#include "ids.h"
#include "indices.h"
#include "../vm/mappings.h"
#include "objects.h"
#include "../intake/order.h"
#include "registry.h"
#include "roster.h"
#include "space.h"
#include "stats.h"
#include "ticks.h"
#include "total.h"
#include "../output/resolve_ahead.h"

enum { EVENT_BATCH = 512 /* they stay in the L1 cache */, DEATHS_MAX = 256 * 1024 };

/* What the sidecar itself noticed, per process. */
struct noticed {
#define SHINY_NOTICED(name, field, weight, unit, text, advice) uint64_t field;
#include "../../store/noticed.def"
#undef SHINY_NOTICED
	uint64_t double_steps; /* looked through for double_frees */
};

struct death {
	struct entry entry;
	uint64_t time; /* ticks */
};

enum roster_key { ROSTER_SLOT, ROSTER_PID, ROSTER_KEYS };

struct process {
	uint32_t id, parent_id;
	struct ring_file *ring;
	uint32_t slot, generation, namespace_pid;
	uint32_t pid;  /* 0 unknown; changed by roster_name */
	struct process *roster_next[ROSTER_KEYS]; /* roster.h */
	int pidfd;     /* -1 none */
	int status;    /* as wait() says it; -1 unknown */
	int said;      /* the same, as its library announced it; -1 it did not */
	int told;      /* the same, as its parent was told; -1 it was not */
	bool forked;   /* its parent shares the ring */
	bool pending;  /* forked, its parent's blocks are not taken over yet */
	bool gone;     /* it cannot run any more */
	bool replaced; /* by exec: another image runs under its pid */
	bool closed;   /* drained after that; its slot is given back */
	bool settled;  /* its live blocks are counted; registry and space are empty */
	bool ends;     /* session->total knows when */
	bool wanderer; /* its pid was looked for and could not be told */
	bool inquired; /* what /proc says of it is on its way */
	uint32_t parent_slot, parent_generation;
	uint64_t start, fork_at, end; /* ticks; end 0: still running */
	uint64_t said_end;            /* ticks, 0 not announced */
	uint64_t closed_wall;         /* ns, wall */
	uint64_t looked_wall;         /* when /proc was last read */
	unsigned looks;
	char *name, *role, *purpose, *executable, *command;

	struct registry registry;
	struct objects objects;
	struct indices classes, tags;
	struct space space;
	struct stats stats;
	struct death *deaths; /* the most recent ones, a ring */
	size_t deaths_room, deaths_at, deaths_count;
	uint64_t deaths_lost; /* ticks: deaths up to here fell out of the ring */

	uint64_t events;
	uint64_t last; /* ticks of the latest record applied */
	uint64_t counters[SHINY_COUNTERS];
	struct noticed noticed;
	size_t mappings_written;
	struct memory *memory;
};

/* A program that a process of the session said it starts, until it is known whether it is
 * recorded. */
struct start {
	struct ring_file *ring; /* of who said it */
	uint64_t number;     /* of the notice */
	uint64_t time;       /* ticks */
	char *path;          /* as exec was given it */
	uint32_t slot, generation; /* of the process that said it */
	uint32_t pid;        /* of the program, as that process sees it; 0 not known */
	uint32_t flags, state;
	bool cut;            /* the path has lost its beginning */
	unsigned looks;
	uint64_t looked_wall, gone_wall; /* ns, wall; 0 not yet */
	enum shiny_unrecorded why;       /* as /proc showed it while the program ran */
	char *executable, *detail;       /* likewise; NULL not seen */
};

enum { STACK_PAGE = 1024, STACK_PAGES = SHINY_STACK_LIMIT / STACK_PAGE };

struct waiting {
	uint32_t sequence, chunk;
};

/* A stream being read. */
struct stream {
	struct ring_file *ring;
	struct process *process;
	uint32_t slot, generation;
	uint32_t id; /* thread's id in the session */
	uint32_t tid, creator;
	bool nested, done, queued;
	bool changed; /* its row is to be written */
	char name[24];
	unsigned name_looks;
	uint64_t start;
	int64_t chunk; /* index of the one being read, -1 none */
	uint32_t expected; /* the sequence number of the next chunk */
	uint64_t done_scan; /* where done: the last scan of its ring that may have missed a chunk of
	                     * it */
	unsigned gap_scans; /* scans in a row that found a later chunk but not the expected one */
	VEC(struct waiting) waiting; /* sorted by sequence */
	struct cursor cursor;
	struct raw head;
	bool has_head;
	uint64_t defined[SHINY_FRAMES_MAX]; /* the stack defined last in this chunk, for
	                                     * STACK_LIKE */
	uint32_t defined_count;             /* 0: none, or not known */
	uint32_t **stacks; /* id → site + 1, in pages; NULL before the first definition */
	struct entry realloc; /* the block that is being reallocated; address 0 none */
	uint64_t realloc_address; /* of the begun realloc, also where the block was unknown; 0
	                           * none */
	uint32_t realloc_stack;
	uint32_t tag; /* what its thread is at, as far as this chunk has said; session-wide id, 0
	               * none */
};

struct session {
	const struct sidecar_options *options;
	struct store *store;
	struct sym_options symbols; /* for the two symbolizers */
	struct warm *warm;          /* NULL: call sites are typed at the end only */
	struct memory_watch *memory;
	struct answers *answers;    /* NULL: nobody gets any */
	struct guests *guests;      /* NULL: there are none */
	struct errands *errands;    /* NULL: the loop runs them itself */
	char *path;
	struct ticks ticks;
	bool ticks_known;
	uint8_t boot_id[16]; /* this machine's, now */
	struct ids ids;
	struct classes classes;
	struct intern tags; /* names; ids as in table tag */
	uint64_t pid_namespace; /* inode of our own; 0 unknown */
	VEC(struct ring_file *) rings; /* all, for ever */
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
	VEC(struct stream *) streams;    /* being read */
	VEC(struct start) starts;        /* that no ring has answered yet */
	struct order order;
	struct priority priority;
	uint32_t threads;
	uint64_t start_realtime, first_ticks;
	uint64_t applied_until; /* T of the last round */
	uint64_t looked;        /* ticks: every ring that was there then is known; 0: no look yet */
	uint64_t latest; /* no honest record read so far can be later; drain_pull reads the clock
	                  * again before it calls one a lie */
	uint64_t next_fork;     /* fork_at of the earliest pending fork, UINT64_MAX none */
	struct total total;     /* what is live over all processes */
	uint64_t total_events, allocs, frees;
	uint64_t pages_beyond; /* of blocks live at the ends of processes, beyond what each may
	                        * have */
	uint64_t torn_pages; /* when the rings were last looked at for it */
	struct sidecar_ended launched; /* pid 0: nobody has said it */
	bool paused;         /* recording was off in some ring at some time */
	uint64_t unrecorded; /* programs that were started and are not recorded */
	struct event events[EVENT_BATCH];
	size_t event_count;
	struct shiny_err *err; /* the store failed: the first reason */
	struct noticed noticed; /* what belongs to no process */
	/* how far the store has got */
	size_t modules_written, frames_written, stacks_written, vtables_written, classes_written;
};

/* Remembers the first error; frees others. */
void session_fail(struct session *session, struct shiny_err *err);
void session_flush_events(struct session *session);
void session_beat(struct session *session); /* who waits for the sidecar sees that it gets on */
void session_destroy(struct session *session);

/* ---- lifecycle.c ---- */
struct process *process_of(struct session *session, struct ring_file *ring, uint32_t slot,
			   uint32_t generation);
/* its ring, slot and id are filled in */
void process_enlist(struct session *session, struct process *process);
void process_scan(struct session *session, struct ring_file *ring); /* new slots */
/* pending forks with fork_at < until: clone the parents' blocks */
void process_take_over(struct session *session, uint64_t until);
/* who has ended; roles; counters */
void process_watch(struct session *session, uint64_t wall);
/* who has said so: it is in time for the order of events */
void process_look_for_ends(struct session *session);
/* It is gone and drained: its slot is given back, and it is not of `running` any more. */
void process_close(struct session *session, struct process *process);
/* count its live blocks; drop its registry */
void process_settle(struct session *session, struct process *process);
void process_destroy(struct process *process);
void process_put(struct session *session, const struct process *process);
bool process_early(const struct process *process); /* it ended before the session's end, as far as
                                                    * is known: what it held is gone, not live */
void process_read_counters(struct process *process);
void process_read_status(struct process *process); /* how it ended, if that can be known */
void process_thread_name(const struct process *process, uint32_t tid, char *out, size_t room);
bool process_thread_alive(const struct process *process, uint32_t tid); /* true when in doubt */

/* ---- drain.c ---- */
void drain_scan(struct session *session, struct ring_file *ring);
void drain_grow(struct ring_file *ring); /* more space where it is getting scarce; a scan does so
                                          * too */
/* Milliseconds until the ring is full, at its writers' pace, if nobody reads it; 0 of one that is
 * too new to tell. */
uint64_t drain_time_left(const struct ring_file *ring);
bool drain_pull(struct session *session, struct stream *stream); /* fills stream->head */
void drain_reap(struct ring_file *ring, const struct process *process); /* NULL: all */
void drain_reap_threads(struct session *session, struct ring_file *ring);
/* no chunk of it is attached or waiting */
bool drain_idle(const struct ring_file *ring, const struct process *process);
void drain_end_streams(struct session *session); /* those that are done */
void stream_destroy(struct stream *stream);
void stream_put(struct session *session, struct stream *stream, uint64_t end);

/* ---- apply.c ---- */
void apply_record(struct session *session, struct stream *stream);
void apply_stream_end(struct session *session, struct stream *stream);

/* ---- apply_tag.c ---- */
uint32_t tags_id(struct session *session, const char *name); /* its row is written the first time */

/* ---- finish.c ---- */
void finish_write_new(struct session *session); /* modules, frames, stacks, vtables that came since
                                                 * the last time */
void finish_session(struct session *session, struct sidecar_summary *out);

/* ---- unprobed.c ---- */
bool unprobed_probe(struct session *session); /* true: something could not be seen, for this time */

#endif
