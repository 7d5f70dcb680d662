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

/* The meaning of a stream's number of a stack. */
struct stream_stack {
	uint32_t stack; /* session-wide id; 0: undefined */
	uint32_t site;  /* index + 1; 0: no block of this stack began in this stream */
};

/* A chunk that waits to be read. */
struct waiting {
	uint32_t sequence, chunk;
	uint64_t spilled; /* place in the spill; 0: the chunk is in the ring */
};

struct stream {
	struct ring_file *ring;
	struct process *process;
	uint32_t slot, generation;
	uint32_t id; /* thread's id in the session */
	uint32_t tid, creator;
	bool nested, done;
	bool changed; /* its row must be written */
	char name[24];
	unsigned name_looks;
	uint64_t start;
	int64_t chunk;      /* index of the one being read, -1 none */
	uint64_t spilled;   /* place of that chunk in the spill; 0: it is in the ring */
	struct shiny_chunk *copy; /* copy of a spilled chunk; NULL: none yet */
	uint32_t expected;  /* sequence number of the next chunk */
	uint64_t done_scan; /* if done: the last scan that may have missed a chunk */
	unsigned gap_scans; /* scans in a row that found a later chunk but not the expected one */
	VEC(struct waiting) waiting; /* sorted by sequence */
	struct record_cursor cursor;
	uint32_t taken; /* records of this chunk that an earlier sidecar took ([taken]) */
	uint32_t committed; /* the same, with those of the last commit */
	uint32_t marked;    /* value of `committed` after the commit under way */
	struct raw head;
	bool has_head;
	uint64_t defined[SHINY_FRAMES_MAX]; /* this chunk's latest stack, for STACK_LIKE */
	uint32_t defined_count;             /* 0: none, or unknown */
	uint32_t defined_frames[SHINY_FRAMES_MAX]; /* ids of these frames, */
	uint64_t defined_changes;                  /* valid for this value of space.changes */
	struct stream_stack **stacks; /* by number, in pages; NULL before the first definition */
	struct entry realloc;     /* block being reallocated; address 0: none */
	uint64_t realloc_address; /* of the begun realloc, also of an unknown block; 0 none */
	uint32_t realloc_stack;
	uint32_t born;            /* site of the last block allocated */
	uint32_t tag; /* the thread's tag, as set in this chunk; session-wide id, 0 none */
};

/*
 * Marks a stream as done: its writer claims no more chunks, and any scan from number `scan` on sees
 * all that it has claimed. A thread that waited for a chunk, filled it and ended between two scans
 * owns chunks that no scan has seen yet.
 */
void stream_finish(struct stream *stream, uint64_t scan);
/*
 * Call when the process has ended (NULL: every process of the ring): seals its open chunks and
 * marks its streams as done.
 */
void stream_reap(struct ring_file *ring, const struct process *process);
void stream_forget_stacks(struct stream *stream);
void stream_destroy(struct stream *stream); /* accepts NULL */

#endif
