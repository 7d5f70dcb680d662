/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h: how the arena's words are written and read. This comment is the specification; the functions below are all there is.
 *
 * Runs:      both sides.
 * Signals:   writer functions are async-signal-safe; one stream (thread slot) has one writer at a time.
 * Allocates: nothing, and makes no system call.
 * Threads:   any number of writers in any number of processes, one reader (the sidecar, or `shinyctl collect` on a leftover).
 *
 * Who runs it
 *   A writer is one thread's stream: a thread slot. It owns at most one OPEN chunk. The reader looks at all of them.
 *
 *   states:   [FREE] [OPEN t7 #0] [FULL t3 #4] [OPEN t3 #5] [FREE] …          one 64-bit word a chunk
 *   chunk 1:  | header: base, t7, generation | r0 | r1 | r2 | 0 | 0 | 0 …      records appended from the left
 *
 *   FREE ──[claim] writer──► OPEN ──[seal] writer──► FULL ──[give] reader──► FREE
 *    ▲                        └────────[reap] reader, owner is dead──────────┘
 *    └──[grow] reader──ABSENT    the file is as long as the header says, but its space is allocated as it is needed: zeroing 64 MiB
 *                                costs 16 ms at start-up, and most programs never fill it. Without a reader the library does it all.
 *
 * Invariants
 *   I1  A FREE chunk is all zero in its records.
 *   I2  In an OPEN or FULL chunk the records with kind != 0 that precede the first one with kind == 0 are whole, and so is
 *       the payload of each RUN among them. What lies beyond is not looked at.
 *   I3  The sequence numbers of one thread slot's chunks within one generation count from 0 without a gap, in stream order.
 *   I4  Only the owner of a thread slot writes its chunks; only the reader writes FREE chunks' records (zeroes).
 *   I5  Per address, publication order is program order: a free is published before the real free is called, an allocation
 *       after the real allocation has returned and before the caller sees the block. So whoever sees a record also finds, if it
 *       then looks, every record that the allocator needed to have happened before it.
 *
 * Ordering edges
 *   [ready]  header.ready = 1, release, after everything else in the header; reader: acquire. Before it: "being made".
 *   [slot]   slot.state = LIVE or DONE, release, after the slot's other fields; reader: acquire. Claim: compare-and-swap FREE→CLAIMED.
 *   [claim]  state word: compare-and-swap FREE→OPEN, acquire: the reader's zeroes are seen. The owner stands in the word
 *            itself, so there is no moment at which a chunk is taken and nobody knows by whom.
 *   [pub]    record.w1, release, after w0 and, for a RUN, after the whole payload; reader: acquire on w1, then w0 and payload.
 *            On x86-64 both are plain moves. There is no published counter: the kind field is the flag, one cache line less.
 *   [seal]   state word: store FULL, release, after the last record; reader: acquire.
 *   [give]   state word: store FREE, release, after the records were zeroed.
 *   [reap]   state word: compare-and-swap OPEN→FULL by the reader, only once the owner cannot run any more (its process has
 *            ended, or its thread is gone from /proc).
 *   [grow]   state word: store FREE, release, after the chunk's space was allocated; only ever from ABSENT, so nobody else writes it.
 *   [ctl]    control words: relaxed; a hook that misses a change sees it at its next event.
 *
 * A writer that dies
 *   before [claim]: nothing happened. After it, before the first [pub]: an OPEN chunk without a record; [reap]ed.
 *   Between w0 and w1, or inside a run's payload: that record is not published, I2 holds for the rest. Before [seal]: [reap]ed.
 *   With a slot CLAIMED: no chunk can name it yet; freed when the arena ends.
 *
 * A peer that lies
 *   The reader loads a word once, checks the copy, uses the copy: slots below the table's size, runs inside their chunk, kinds
 *   and ids in range. A record that breaks a rule ends that stream's chunk and is counted; it never ends the reader. A writer
 *   believes only state words, through a compare-and-swap: the worst that a lying reader can do to it is to lose events.
 *
 * Order between streams (the reader's rule, argued in src/collector/order.h): take T = now, then read what is published; by I5
 * everything with time <= T whose cause has been seen is there. Merge by time up to T, keep the rest for the next round.
 */
#ifndef SHINY_RING_H
#define SHINY_RING_H

#include <shiny/wire.h>

static inline struct shiny_process *shiny_processes(struct shiny_header *h)
{
	return (struct shiny_process *)((char *)h + h->processes_at);
}

static inline struct shiny_thread *shiny_threads(struct shiny_header *h)
{
	return (struct shiny_thread *)((char *)h + h->threads_at);
}

static inline uint64_t *shiny_chunk_states(struct shiny_header *h)
{
	return (uint64_t *)((char *)h + h->states_at);
}

static inline struct shiny_chunk *shiny_chunks(struct shiny_header *h)
{
	return (struct shiny_chunk *)((char *)h + h->chunks_at);
}

/* ---- writers ---- */

/* Takes a free chunk for `thread`'s stream; its index, or -1 when none is free. Scans at most `chunks` words. */
static inline int32_t shiny_chunk_claim(struct shiny_header *h, uint32_t chunks, uint64_t *states, uint32_t thread, uint32_t sequence)
{
	uint32_t start = __atomic_load_n(&h->chunk_hint, __ATOMIC_RELAXED);

	if (start >= chunks)
		start = 0;
	for (uint32_t n = 0; n < chunks; n++) {
		uint32_t i = start + n < chunks ? start + n : start + n - chunks;
		uint64_t word = __atomic_load_n(&states[i], __ATOMIC_RELAXED);

		if (SHINY_CHUNK_PHASE(word) != SHINY_CHUNK_FREE)
			continue;
		if (__atomic_compare_exchange_n(&states[i], &word, SHINY_CHUNK_STATE(SHINY_CHUNK_OPEN, thread, sequence), 0,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) { /* [claim] */
			__atomic_store_n(&h->chunk_hint, i + 1, __ATOMIC_RELAXED);
			return (int32_t)i;
		}
	}
	return -1;
}

/* Publishes one record. A run's payload must stand behind it already. */
static inline void shiny_publish(struct shiny_record *r, uint64_t w0, uint64_t w1)
{
	__atomic_store_n(&r->w0, w0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->w1, w1, __ATOMIC_RELEASE); /* [pub] */
}

/* The owner is done with its chunk. */
static inline void shiny_chunk_seal(uint64_t *state, uint32_t thread, uint32_t sequence)
{
	__atomic_store_n(state, SHINY_CHUNK_STATE(SHINY_CHUNK_FULL, thread, sequence), __ATOMIC_RELEASE); /* [seal] */
}

static inline uint64_t shiny_w0(uint64_t aux, uint32_t stack)
{
	return aux << SHINY_ADDRESS_SHIFT | stack;
}

static inline uint64_t shiny_w1(uint64_t dt, uint64_t size, unsigned api, unsigned kind)
{
	return dt << SHINY_DT_SHIFT | size << SHINY_SIZE_SHIFT | (uint64_t)api << SHINY_API_SHIFT | kind;
}

/* An OBJECT's; each number is below its limit. */
static inline uint64_t shiny_object_w1(uint64_t dt, uint64_t index, uint64_t size)
{
	return dt << SHINY_OBJECT_DT_SHIFT | index << SHINY_OBJECT_INDEX_SHIFT | size << SHINY_KIND_BITS | SHINY_REC_OBJECT;
}

/* ---- the reader ---- */

/* One published record, copied; kind 0 in `out->w1` where none is published yet. */
static inline unsigned shiny_poll(const struct shiny_record *r, struct shiny_record *out)
{
	out->w1 = __atomic_load_n(&r->w1, __ATOMIC_ACQUIRE); /* [pub] */
	out->w0 = __atomic_load_n(&r->w0, __ATOMIC_RELAXED);
	return (unsigned)(out->w1 & ((1u << SHINY_KIND_BITS) - 1));
}

/* Gives a drained chunk back: zeroes `used` records from the start, then frees it. */
static inline void shiny_chunk_give(struct shiny_header *h, uint64_t *state, uint32_t index, struct shiny_chunk *chunk, uint32_t used)
{
	__builtin_memset(chunk, 0, offsetof(struct shiny_chunk, records) + (size_t)used * SHINY_RECORD_BYTES);
	__atomic_store_n(state, SHINY_CHUNK_STATE(SHINY_CHUNK_FREE, 0, 0), __ATOMIC_RELEASE); /* [give] */
	if (index < __atomic_load_n(&h->chunk_hint, __ATOMIC_RELAXED))
		__atomic_store_n(&h->chunk_hint, index, __ATOMIC_RELAXED); /* low chunks are reused first: fewer pages touched */
}

/* The chunk's space has been allocated: writers may have it. */
static inline void shiny_chunk_grow(uint64_t *state)
{
	__atomic_store_n(state, SHINY_CHUNK_STATE(SHINY_CHUNK_FREE, 0, 0), __ATOMIC_RELEASE); /* [grow] */
}

#endif
