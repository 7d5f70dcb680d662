/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_chunks.h: the chunks of a stream: the one being read, those that wait, and how many of its
 * records are safe. intake/drain.c moves them on.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_STREAM_CHUNKS_H
#define SHINY_STREAM_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/mem.h"

struct shiny_chunk;

/* A chunk that waits to be read. */
struct waiting {
	uint32_t sequence, chunk;
	uint64_t spilled; /* place in the spill; 0: the chunk is in the ring */
};

struct stream_chunks {
	int64_t current;	     /* index of the one being read, -1 none */
	uint64_t spilled;	     /* place of that chunk in the spill; 0: it is in the ring */
	struct shiny_chunk *copy;    /* copy of a spilled chunk; NULL: none yet */
	VEC(struct waiting) waiting; /* sorted by sequence */
	uint32_t expected;	     /* sequence number of the next chunk */
	uint32_t taken;	    /* records of this chunk that an earlier sidecar took ([taken]) */
	uint32_t committed; /* the same, with those of the last commit */
	uint32_t marked;    /* value of `committed` after the commit under way */
	unsigned gap_scans; /* scans in a row that found a later chunk but not the expected one */
	bool done;
	uint64_t done_scan; /* if done: the last scan that may have missed a chunk */
};

#endif
