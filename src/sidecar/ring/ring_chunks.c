/* SPDX-License-Identifier: Apache-2.0 */
/* ring_chunks.c: see ring_chunks.h. */
#define _GNU_SOURCE
#include "ring_chunks.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "ticks.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

void ring_give_chunk(struct ring_file *ring, uint32_t chunk, uint32_t used)
{
	if (ring->whole[chunk])
		used = shiny_chunk_room(&ring->chunks, chunk);
	ring->whole[chunk] = 0;
	ring->owners[chunk] = NULL;
	ring->given += chunk < ring->chunks.smalls ? SHINY_SMALL_BYTES : SHINY_CHUNK_BYTES;
	shiny_chunk_give(ring->header, &ring->chunks, chunk, used);
}

static uint64_t bytes_of(const uint32_t chunks[2])
{
	return (uint64_t)chunks[0] * SHINY_SMALL_BYTES + (uint64_t)chunks[1] * SHINY_CHUNK_BYTES;
}

enum { SPEED_MS = 20, YOUNG_MS = 500, MS_NS = 1000 * 1000 };

/* Measures, after a look at all chunks, how fast writers claim them. After a burst the measure
 * sinks slowly. */
static void measure_speed(struct ring_file *ring)
{
	uint64_t now = ticks_wall_ns(), taken = ring->given + bytes_of(ring->busy), span, speed;

	if (!ring->first_look) { /* the time that filled the present chunks is unknown */
		ring->first_look = ring->measured = now;
		ring->taken = taken;
	}
	span = (now - ring->measured) / MS_NS;
	if (span < SPEED_MS)
		return;
	speed = taken > ring->taken ? (taken - ring->taken) / span : 0;
	ring->speed = speed > ring->speed ? speed : ring->speed - ring->speed / 8;
	ring->taken = taken;
	ring->measured = now;
}

static uint64_t time_left(const struct ring_file *ring)
{
	uint64_t room = bytes_of(ring->present), busy = bytes_of(ring->busy);

	return (room > busy ? room - busy : 0) / (ring->speed + 1);
}

uint64_t ring_time_left(const struct ring_file *ring)
{
	/* a new ring is small, and the pace of its program or a new process is unknown */
	if (!ring->first_look || ring->measured - ring->first_look < (uint64_t)YOUNG_MS * MS_NS)
		return 0;
	return time_left(ring);
}

/*
 * The spill starts before the sidecar would have to raise its priority (priority.h): copying chunks
 * takes a twentieth of the time that reading them takes. A ring that can grow does so first, when
 * it is half full: a burst then fits into it, and its chunks need not be written to a file and read
 * from there.
 */
enum { SPILL_MS = 700, GROWN_ENOUGH = 16 << 20 };

bool ring_fills_up(const struct ring_file *ring)
{
	uint64_t room = bytes_of(ring->present);
	bool grows = room >= GROWN_ENOUGH && !ring->no_space && !ring->over;

	return bytes_of(ring->busy) * 4 > room * (grows ? 3 : 1) && time_left(ring) < SPILL_MS;
}

/* Allocates space for a range of the file; false: the writers wait or drop, and count it, as with
 * any full ring. */
static bool find_space(struct ring_file *ring, const void *at, size_t bytes)
{
	if (ring->no_space || ring->over)
		return false;
	ring->no_space = fallocate(ring->fd, 0, (const char *)at - (const char *)ring->header,
				   (off_t)bytes) != 0;
	/* One call zeroes and maps all pages: page faults take ten times as long, here and in the
	 * writers, which then map sixteen pages by one fault (interpose/record/chunk.c). */
	if (!ring->no_space)
		madvise((void *)(uintptr_t)at, bytes, MADV_POPULATE_WRITE);
	return !ring->no_space;
}

/*
 * Chunks of a size grow before the writers need them: they double when a quarter is in use (at a
 * half, Chromium's renderers, twelve threads with a chunk each, still had to wait). A process that
 * joins a session begins with three large chunks (interpose/boot/attach.c); one that claims a large
 * chunk will run longer, and gets at once as many as the first process of a session. They also grow
 * if writers would fill them within GROW_MS: the sidecar stays at a low priority only while it has
 * time (priority.h). From GROWN_ENOUGH bytes on they grow only when half full, as each new page
 * costs. ABSENT chunks are always the last ones.
 */
enum { LARGE_ENOUGH = 48, GROW_MS = 1500 };

static bool needs_more(const struct ring_file *ring, int large)
{
	if (bytes_of(ring->present) >= GROWN_ENOUGH)
		return ring->busy[large] * 2 >= ring->present[large];
	return ring->busy[large] * 4 >= ring->present[large] || time_left(ring) < GROW_MS;
}

static void grow_chunks(struct ring_file *ring, int large)
{
	uint32_t first = large ? ring->chunks.smalls : 0, present = ring->present[large];
	uint32_t absent = (large ? ring->chunks.count : ring->chunks.smalls) - first - present,
		 more = present ? present : 1;

	/* nearly full: thousands of threads may be waiting */
	if (ring->busy[large] > present / 4 * 3)
		more *= 3;
	if (large && present < LARGE_ENOUGH && more < LARGE_ENOUGH - present)
		more = LARGE_ENOUGH - present;
	more = more < absent ? more : absent;
	if (!absent || !needs_more(ring, large))
		return;
	first += present;
	if (!find_space(ring, shiny_chunk_at(&ring->chunks, first),
		      (size_t)more * (large ? SHINY_CHUNK_BYTES : SHINY_SMALL_BYTES)))
		return;
	shiny_chunk_grow(ring->header, &ring->chunks, first, first + more);
	ring->present[large] += more;
}

/* Grows a table of slots likewise, by the lowest slot that may be free. */
static void grow_slots(struct ring_file *ring, const void *table, size_t bytes, uint32_t count,
		       uint32_t *ready, uint32_t *told, uint32_t *hint)
{
	uint32_t more = *ready < count - *ready ? *ready : count - *ready;

	if (!more || __atomic_load_n(hint, __ATOMIC_RELAXED) < *ready / 4 ||
	    !find_space(ring, (const char *)table + *ready * bytes, more * bytes))
		return;
	*ready += more;
	__atomic_store_n(told, *ready, __ATOMIC_RELEASE); /* [grow] */
	shiny_given(ring->header, hint, *ready - more);
}

void ring_grow(struct ring_file *ring)
{
	struct shiny_header *h = ring->header;

	grow_chunks(ring, 0);
	grow_chunks(ring, 1);
	grow_slots(ring, ring->processes, sizeof(*ring->processes), ring->process_count,
		   &ring->processes_ready, &h->processes_ready, &h->process_hint);
	grow_slots(ring, ring->threads, sizeof(*ring->threads), ring->thread_count,
		   &ring->threads_ready, &h->threads_ready, &h->thread_hint);
}

void ring_each_chunk(struct ring_file *ring, ring_chunk_fn *each, void *context)
{
	for (int large = 0; large < 2; large++) {
		uint32_t first = large ? ring->chunks.smalls : 0,
			 end = large ? ring->chunks.count : ring->chunks.smalls, i, busy = 0;

		for (i = first; i < end; i++) {
			/* [seal] */
			uint64_t word = __atomic_load_n(&ring->chunks.states[i], __ATOMIC_ACQUIRE);

			if (SHINY_CHUNK_PHASE(word) == SHINY_CHUNK_FREE)
				continue;
			if (SHINY_CHUNK_PHASE(word) == SHINY_CHUNK_ABSENT)
				break;
			busy++;
			if (each)
				each(context, ring, i, word);
		}
		ring->present[large] = i - first;
		ring->busy[large] = busy;
	}
	measure_speed(ring);
}

bool ring_chunk_is_open(const struct ring_file *ring, uint32_t chunk, uint64_t *word)
{
	*word = __atomic_load_n(&ring->chunks.states[chunk], __ATOMIC_ACQUIRE);
	return SHINY_CHUNK_PHASE(*word) == SHINY_CHUNK_OPEN &&
	       SHINY_CHUNK_THREAD(*word) < ring->threads_ready;
}

void ring_reap_chunk(struct ring_file *ring, uint32_t chunk, uint64_t word)
{
	uint64_t full = SHINY_CHUNK_STATE(SHINY_CHUNK_FULL, SHINY_CHUNK_THREAD(word),
					  SHINY_CHUNK_SEQUENCE(word));

	/* [reap] */
	if (__atomic_compare_exchange_n(&ring->chunks.states[chunk], &word, full, 0,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		ring->whole[chunk] = 1;
}
