/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_stream.h: one thread's stream of records while it is read. For those that follow its
 * records; its parts have headers of their own (stream_chunks.h, stream_stacks.h, stream_thread.h).
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SESSION_STREAM_H
#define SHINY_SESSION_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "../ring/record_decode.h"
#include "registry.h"
#include "stream_chunks.h"
#include "stream_stacks.h"
#include "stream_thread.h"

struct process;
struct ring_file;

/* A realloc between its two records. */
struct begun_realloc {
	struct entry block; /* has left the registry; address 0: none */
	uint64_t address;   /* also of an unknown block; 0: no realloc has begun */
	uint32_t stack;
};

struct stream {
	struct ring_file *ring;
	struct process *process;
	struct record_cursor cursor;
	struct raw head;
	bool has_head;
	uint32_t born; /* site of the last block allocated */
	uint64_t fresh; /* its address, until a pool has looked at it; 0: none */
	uint32_t tag;  /* the thread's tag, as set in this chunk; session-wide id, 0 none */
	uint8_t level; /* likewise that of its sample */
	uint64_t pool; /* likewise the pool of its next object of the second level, 0 none */
	struct stream_chunks chunks;
	struct begun_realloc realloc, move; /* move: of the second level */
	struct stream_thread thread;
	struct stream_stacks stacks;
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
void stream_destroy(struct stream *stream); /* accepts NULL */

#endif
