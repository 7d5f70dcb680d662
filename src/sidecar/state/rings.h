/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rings.h: the rings of a session, the streams that are read from them, and what paces the reading.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_RINGS_H
#define SHINY_RINGS_H

#include "../proc/priority.h"
#include "../ring/ring_file.h"
#include "../ring/ticks.h"

struct guests;
struct heartbeat;
struct spill;
struct stream;

/* A chunk that was read and released since the last commit (intake/uncommitted.h). */
struct read_chunk {
	struct ring_file *ring;
	struct shiny_chunk *copy; /* its first `bytes`; the others are zeros */
	uint64_t word;		  /* its state in the ring */
	uint32_t bytes, room;	  /* room: records that fit into it */
};

struct rings {
	/*
	 * Ticks; no honest record read so far can be later. drain_pull reads the clock again before
	 * it calls a record a lie.
	 */
	uint64_t latest;
	VEC(struct ring_file *) all;	 /* all that the session has had */
	VEC(struct ring_file *) present; /* those whose file still exists */
	VEC(struct stream *) streams;	 /* being read */
	struct priority priority;
	struct spill *spill;	     /* NULL: chunks are read in their rings only */
	struct heartbeat *heartbeat; /* only while rings are drained; else NULL */
	struct guests *guests;	     /* NULL: there are none */
	VEC(struct read_chunk) uncommitted;
	uint64_t uncommitted_bytes;
	uint64_t looked;     /* ticks of the last look for rings, which found all older ones; 0:
			      * none yet */
	uint64_t torn_pages; /* at the last check of the rings */
	uint32_t threads;    /* number of streams that the session has had */
	bool behind;	     /* the last round was cut: there are more records up to its T */
	bool paused;	     /* recording was off in some ring at some time */
	uint8_t boot_id[16]; /* of the running system */
};

/* Shows waiting programs that the sidecar makes progress. */
void rings_beat(const struct rings *rings, const struct ticks *ticks);

#endif
