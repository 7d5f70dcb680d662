/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_stream.h: one thread's stream of records while it is read.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SESSION_STREAM_H
#define SHINY_SESSION_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

#include "../../base/mem.h"
#include "../ring/record_decode.h"
#include "registry.h"

struct process;
struct ring_file;

enum { STACK_PAGE = 1024, STACK_PAGES = SHINY_STACK_LIMIT / STACK_PAGE };

/* What a stream's id of a stack stands for. */
struct stream_stack {
	uint32_t stack; /* session-wide id; 0: it was not defined */
	uint32_t site;  /* + 1; 0: no block of it began in this stream */
};

/* A chunk that was found and is not read yet. */
struct waiting {
	uint32_t sequence, chunk;
	uint64_t spilled; /* its place in the spill; 0: it is in the ring */
};

struct stream {
	struct ring_file *ring;
	struct process *process;
	uint32_t slot, generation;
	uint32_t id; /* thread's id in the session */
	uint32_t tid, creator;
	bool nested, done;
	bool changed; /* its row is to be written */
	char name[24];
	unsigned name_looks;
	uint64_t start;
	int64_t chunk;      /* index of the one being read, -1 none */
	uint64_t spilled;   /* its place, where it comes from the spill and not from the ring */
	struct shiny_chunk *copy; /* of such a one; NULL: there was none yet */
	uint32_t expected;  /* the sequence number of the next chunk */
	uint64_t done_scan; /* where done: the last scan that may have missed a chunk of it */
	unsigned gap_scans; /* scans in a row that found a later chunk but not the expected one */
	VEC(struct waiting) waiting; /* sorted by sequence */
	struct record_cursor cursor;
	uint32_t taken; /* [taken] records of this chunk, by an earlier sidecar */
	uint32_t committed; /* the same, and by this one's last commit */
	uint32_t marked;    /* what a commit that is under way makes of it */
	struct raw head;
	bool has_head;
	uint64_t defined[SHINY_FRAMES_MAX]; /* this chunk's latest stack, for STACK_LIKE */
	uint32_t defined_count;             /* 0: none, or not known */
	uint32_t defined_frames[SHINY_FRAMES_MAX]; /* ids of these frames, */
	uint64_t defined_changes;                  /* after so many of space.changes */
	struct stream_stack **stacks; /* by id, in pages; NULL before the first definition */
	struct entry realloc;     /* the block that is being reallocated; address 0 none */
	uint64_t realloc_address; /* of the begun realloc, also of an unknown block; 0 none */
	uint32_t realloc_stack;
	uint32_t born;            /* site of the block whose allocation came last */
	uint32_t tag; /* its thread's, as this chunk has said; session-wide id, 0 none */
};

/*
 * Its writer will claim no more; what it had claimed shows in a scan that begins from now on, the
 * one numbered `scan` or a later one. A thread that waited for a chunk, got one, filled it and died
 * between two scans owns chunks that nobody has seen yet.
 */
void stream_finish(struct stream *stream, uint64_t scan);
/*
 * The process has ended (NULL: every process of the ring has): its open chunks are sealed in its
 * place, and its streams are done.
 */
void stream_reap(struct ring_file *ring, const struct process *process);
void stream_forget_stacks(struct stream *stream);
void stream_destroy(struct stream *stream); /* accepts NULL */

#endif
