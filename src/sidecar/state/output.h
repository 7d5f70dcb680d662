/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h: the records on their way to the session file: the store, its events, named objects,
 * counts and the clock of its rows.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_OUTPUT_H
#define SHINY_OUTPUT_H

#include "../../base/texts.h"
#include "../../store/store.h"
#include "../ring/ticks.h"
#include "classes.h"
#include "ids.h"
#include "session_process.h"
#include "total.h"

struct stream_thread;

/* The end of a block with ENTRY_WATCHED, at `time` (ticks). */
struct watched_end {
	uint32_t process;
	bool moved; /* by realloc */
	uint64_t time;
	struct entry entry;
};

struct output {
	struct store *store;
	struct shiny_err *err; /* the store failed: the first reason */
	/* Events are written where the store packs them: those from `events` to `next_event` are
	 * new. */
	struct event *events, *next_event, *events_end;
	uint64_t applied_until; /* T of the last round; less if that was cut */
	uint64_t total_events, allocs, frees;
	struct ticks ticks;
	bool ticks_known;
	bool has_snapshots;
	VEC(struct watched_end) watched_ends; /* for access/watches.h */
	VEC(struct store_root) variables;     /* roots of snapshots that have no names yet */
	struct {
		uint64_t count, next; /* checkpoints so far; ns of the next one */
		VEC(struct store_checkpoint) later; /* than that with which readers begin */
	} kept; /* for checkpoint.h */
	struct ids ids;
	struct classes classes;
	struct texts tags;  /* names; index + 1 is the id in table tag */
	struct total total, second; /* live bytes of all processes; of the second level */
	struct {
		size_t modules, frames, stacks, vtables, classes, tags;
	} written;		/* number of rows that the store has */
	struct noticed noticed; /* counts of no process */
	uint64_t counted;	/* as in struct process */
	uint64_t pages_beyond;	/* pages of blocks live at processes' ends, beyond each
				 * process's number */
	uint64_t unrecorded;	/* number of unrecorded programs */
	uint64_t start_realtime;
	char *path;
	struct event unkept[64]; /* scratch space, if there is no store */
};

/* Remembers the first error; frees others. */
void output_fail(struct output *output, struct shiny_err *err);
/* Writes a row: OUTPUT_PUT(output, store_put_note, process, text). */
#define OUTPUT_PUT(output, put, ...) output_fail(output, put((output)->store, __VA_ARGS__))
/* Passes the events to the store; call before it commits or ends. */
void output_flush_events(struct output *output);
/* Does the same, and makes room for more; call when `next_event` is at the end. */
void output_make_room(struct output *output);
/* Writes a process's present row; does nothing without a store. */
void output_put_process(struct output *output, const struct process *process);
/* Writes the row of a process's thread; `end`: ticks, 0: it has not ended. */
void output_put_thread(struct output *output, const struct process *process,
		       struct stream_thread *thread, uint64_t end);
/* Returns the id of a tag, adding it if necessary. */
uint32_t output_tag(struct output *output, const char *name);

#endif
