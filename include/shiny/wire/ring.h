/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h: the functions that write and read the ring's words. This comment is their specification;
 * nothing else accesses those words.
 *
 * Runs:      both sides.
 * Signals:   writer functions are async-signal-safe; one stream (thread slot) has one writer at a
 *            time.
 * Allocates: nothing, and makes no system call.
 * Threads:   any number of writers in any number of processes, one reader (the sidecar, or
 *            `shinyctl collect` on a leftover).
 *
 * Who runs it
 *   A writer is one thread's stream: a thread slot. It owns at most one OPEN chunk. The reader
 *   looks at all of them.
 *
 *   states:   [FREE] [OPEN t7 #0] [FULL t3 #4] [OPEN t3 #5] [FREE] …          one 64-bit word a chunk
 *   chunk 1:  | header: base, t7, generation | r0 | r1 | r2 | 0 | 0 | 0 …      records appended from the left
 *
 *   FREE ──[claim] writer──► OPEN ──[seal] writer──► FULL ──[give] reader──► FREE
 *    ▲                        └────────[reap] reader, owner is dead──────────┘
 *    └──[grow] reader──ABSENT    the file is as long as the header says, but its space is allocated
 *                                as it is needed: zeroing 64 MiB costs 16 ms at start-up, and most
 *                                programs never fill it. Without a reader the library allocates
 *                                everything.
 *
 *   Chunks come in two sizes (wire.h); the words of the small ones come first. Of each size the
 *   ABSENT ones are the last. Slots of processes and threads have no such phase: those below
 *   processes_ready and threads_ready have space. A search for a free chunk or slot begins at a
 *   hint and takes the lowest, so that chunks and slots in use stay close together, and the first
 *   look usually finds a free one.
 *
 * Invariants
 *   I1  A FREE chunk is all zero in its records.
 *   I2  In an OPEN or FULL chunk the records with kind != 0 that precede the first one with kind ==
 *       0 are whole, and so is the payload of each RUN among them. Nobody reads what lies beyond.
 *   I3  The sequence numbers of one thread slot's chunks within one generation count from 0 without
 *       a gap, in stream order.
 *   I4  Only the owner of a thread slot writes its chunks; only the reader writes FREE chunks'
 *       records (zeroes).
 *   I5  Per address, publication order is program order: a free is published before the real free
 *       is called, an allocation after the real allocation has returned and before the caller sees
 *       the block. So a reader that has seen a record also finds, if it then looks, the record of
 *       every event that the allocator needed to happen before it.
 *
 * Ordering edges
 *   [ready]  header.ready = 1, release, after everything else in the header; reader: acquire.
 *            0: the ring is being created.
 *   [slot]   slot.state = LIVE or DONE, release, after the slot's other fields; reader: acquire.
 *            Claim: compare-and-swap FREE→CLAIMED.
 *   [claim]  state word: compare-and-swap FREE→OPEN, acquire: the reader's zeroes are seen. The
 *            word itself names the owner, so a chunk that is taken has a known owner at any moment.
 *   [pub]    record.w1, release, after w0 and, for a RUN, after the whole payload; reader: acquire
 *            on w1, then w0 and payload. On x86-64 both are plain moves. There is no published
 *            counter: the kind field is the flag, one cache line less.
 *   [seal]   state word: store FULL, release, after the last record; reader: acquire.
 *   [give]   state word: store FREE, release, after the records were zeroed; then header.given is
 *            incremented, release. A slot's state is stored likewise. A writer that waits for a
 *            chunk or slot reads `given`, acquire, and searches again when it has changed.
 *   [reap]   state word: compare-and-swap OPEN→FULL by the reader, only once the owner cannot run
 *            any more (its process has ended, or its thread is gone from /proc).
 *   [grow]   state word: store FREE, release, after the chunk's space was allocated. The word was
 *            ABSENT, so no other side writes it. Slots: processes_ready and threads_ready, release,
 *            after the space below them was allocated; they only grow.
 *   [taken]  chunk.taken, relaxed, before the commit that makes the events of the chunk's first
 *            `taken` records safe. A reader that follows a killed one takes only definitions from
 *            those records, and counts the chunk: an event is in one session file at most. [give]
 *            zeroes it. header.uncommitted is incremented before [give], and zeroed after the
 *            commit: where a thread's last chunk has been freed, it alone shows that events may be
 *            lost. A commit that fails restores both (intake/uncommitted.h).
 *   [ctl]    control words: relaxed; a hook that misses a change sees it at its next event.
 *
 * A writer that dies
 *   before [claim]: nothing happened. After it, before the first [pub]: an OPEN chunk without a
 *   record; [reap]ed. Between w0 and w1, or inside a run's payload: that record is not published,
 *   I2 holds for the rest. Before [seal]: [reap]ed. With a slot CLAIMED: no chunk can name it yet;
 *   freed when the ring ends.
 *
 * A peer that lies
 *   The reader loads a word once, checks the copy, uses the copy: slots below the table's size,
 *   runs inside their chunk, kinds and ids in range. A record that breaks a rule ends that stream's
 *   chunk and is counted; it never ends the reader. A writer believes only state words, through a
 *   compare-and-swap: the worst that a lying reader can do to it is to lose events.
 *
 * Order between streams (the reader's rule, argued in src/sidecar/intake/order.h): take T = now,
 * then read the published records; by I5 every event with time <= T whose cause was read is among
 * them. Merge by time up to T, keep later ones for the next round.
 */
#ifndef SHINY_RING_H
#define SHINY_RING_H

#include <shiny/wire/wire.h>

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

/* The addresses of a ring's chunks. Each side keeps a private copy: the header is shared, and may
 * lie later. */
struct shiny_chunks {
	uint64_t *states; /* [count] */
	char *small, *large;
	uint32_t smalls, count; /* chunks [0, smalls) are small, [smalls, count) large */
};

static inline struct shiny_chunks shiny_chunks(struct shiny_header *h)
{
	return (struct shiny_chunks){ .states = shiny_chunk_states(h),
				      .small = (char *)h + h->smalls_at,
				      .large = (char *)h + h->chunks_at,
				      .smalls = h->smalls,
				      .count = h->chunks };
}

static inline struct shiny_chunk *shiny_chunk_at(const struct shiny_chunks *c, uint32_t i)
{
	return (struct shiny_chunk *)(i < c->smalls ? c->small + (size_t)i * SHINY_SMALL_BYTES :
				      c->large + (size_t)(i - c->smalls) * SHINY_CHUNK_BYTES);
}

/* Returns how many records chunk `i` holds. */
static inline uint32_t shiny_chunk_room(const struct shiny_chunks *c, uint32_t i)
{
	return i < c->smalls ? SHINY_SMALL_RECORDS : SHINY_CHUNK_RECORDS;
}

/* ---- writers ---- */

/* Claims a free chunk of one size for `thread`'s stream. Returns its index, or -1 when none is
 * free. It reads each state word of that size at most once. */
static inline int32_t shiny_chunk_claim(struct shiny_header *h, const struct shiny_chunks *c,
					int large, uint32_t thread, uint32_t sequence)
{
	uint32_t first = large ? c->smalls : 0, end = large ? c->count : c->smalls,
		 *hint = &h->chunk_hint[!!large];
	uint32_t start = __atomic_load_n(hint, __ATOMIC_RELAXED);

	if (start < first || start > end)
		start = first;
	for (int around = 0; around < 2; around++)
		for (uint32_t i = around ? first : start; i < (around ? start : end); i++) {
			uint64_t word = __atomic_load_n(&c->states[i], __ATOMIC_RELAXED);

			if (SHINY_CHUNK_PHASE(word) == SHINY_CHUNK_ABSENT)
				break;
			if (SHINY_CHUNK_PHASE(word) != SHINY_CHUNK_FREE)
				continue;
			if (__atomic_compare_exchange_n(
				    &c->states[i], &word,
				    SHINY_CHUNK_STATE(SHINY_CHUNK_OPEN, thread, sequence), 0,
				    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) { /* [claim] */
				__atomic_store_n(hint, i + 1, __ATOMIC_RELAXED);
				return (int32_t)i;
			}
		}
	return -1;
}

/* Returns the slot at which a search of a slot table begins; 0 if the hint is not below `ready`. */
static inline uint32_t shiny_slot_start(const uint32_t *hint, uint32_t ready)
{
	uint32_t start = __atomic_load_n(hint, __ATOMIC_RELAXED);

	return start < ready ? start : 0;
}

/* Updates the hint and the high-water mark after slot `i` was claimed. */
static inline void shiny_slot_claimed(uint32_t *hint, uint32_t *used, uint32_t i)
{
	uint32_t high = __atomic_load_n(used, __ATOMIC_RELAXED);

	while (high < i + 1 && !__atomic_compare_exchange_n(used, &high, i + 1, 1, __ATOMIC_RELAXED,
							    __ATOMIC_RELAXED))
		;
	__atomic_store_n(hint, i + 1, __ATOMIC_RELAXED);
}

/* Publishes one record. A run's payload must be stored before. */
static inline void shiny_publish(struct shiny_record *r, uint64_t w0, uint64_t w1)
{
	__atomic_store_n(&r->w0, w0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->w1, w1, __ATOMIC_RELEASE); /* [pub] */
}

/* Marks a chunk FULL: its owner writes no more records to it. */
static inline void shiny_chunk_seal(uint64_t *state, uint32_t thread, uint32_t sequence)
{
	/* [seal] */
	__atomic_store_n(state, SHINY_CHUNK_STATE(SHINY_CHUNK_FULL, thread, sequence),
			 __ATOMIC_RELEASE);
}

static inline uint64_t shiny_w0(uint64_t aux, uint32_t stack)
{
	return aux << SHINY_ADDRESS_SHIFT | stack;
}

static inline uint64_t shiny_w1(uint64_t dt, uint64_t size, unsigned api, unsigned kind)
{
	return dt << SHINY_DT_SHIFT | size << SHINY_SIZE_SHIFT | (uint64_t)api << SHINY_API_SHIFT |
	       kind;
}

/* Returns w0 of a VPTR record; `when` is below its limit. */
static inline uint64_t shiny_vptr_w0(uint64_t aux, uint64_t when)
{
	return shiny_w0(aux, (uint32_t)(when & ((UINT64_C(1) << SHINY_WHEN_LOW_BITS) - 1)));
}

static inline uint64_t shiny_vptr_w1(uint64_t word, uint64_t when, unsigned api)
{
	return word >> SHINY_GRANULE_SHIFT << SHINY_VTABLE_SHIFT |
	       when >> SHINY_WHEN_LOW_BITS << SHINY_SIZE_SHIFT |
	       (uint64_t)api << SHINY_API_SHIFT | SHINY_REC_VPTR;
}

/* Returns w1 of an OBJECT record; each number is below its limit. */
static inline uint64_t shiny_object_w1(uint64_t dt, uint64_t index, uint64_t size)
{
	return dt << SHINY_OBJECT_DT_SHIFT | index << SHINY_OBJECT_INDEX_SHIFT |
	       size << SHINY_KIND_BITS | SHINY_REC_OBJECT;
}

/* ---- the reader ---- */

/* Copies one record and returns its kind; 0, also in `out->w1`, while it is not published. */
static inline unsigned shiny_poll(const struct shiny_record *r, struct shiny_record *out)
{
	out->w1 = __atomic_load_n(&r->w1, __ATOMIC_ACQUIRE); /* [pub] */
	out->w0 = __atomic_load_n(&r->w0, __ATOMIC_RELAXED);
	return (unsigned)(out->w1 & ((1u << SHINY_KIND_BITS) - 1));
}

/* Tells waiting writers that something was freed; `index` may now be the lowest free one. Low ones
 * are reused first, so fewer pages are touched. */
static inline void shiny_given(struct shiny_header *h, uint32_t *hint, uint32_t index)
{
	if (index < __atomic_load_n(hint, __ATOMIC_RELAXED))
		__atomic_store_n(hint, index, __ATOMIC_RELAXED);
	__atomic_fetch_add(&h->given, 1, __ATOMIC_RELEASE); /* [give] */
}

/* Frees a drained chunk, after zeroing its header and its first `used` records. */
static inline void shiny_chunk_give(struct shiny_header *h, const struct shiny_chunks *c,
				    uint32_t index, uint32_t used)
{
	__builtin_memset(shiny_chunk_at(c, index), 0,
			 offsetof(struct shiny_chunk, records) + (size_t)used * SHINY_RECORD_BYTES);
	/* [give] */
	__atomic_store_n(&c->states[index], SHINY_CHUNK_STATE(SHINY_CHUNK_FREE, 0, 0),
			 __ATOMIC_RELEASE);
	shiny_given(h, &h->chunk_hint[index >= c->smalls], index);
}

/* Lets writers claim chunks `first` to `end` - 1, all of one size, whose space was allocated. */
static inline void shiny_chunk_grow(struct shiny_header *h, const struct shiny_chunks *c,
				    uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		__atomic_store_n(&c->states[i], SHINY_CHUNK_STATE(SHINY_CHUNK_FREE, 0, 0),
				 __ATOMIC_RELEASE); /* [grow] */
	shiny_given(h, &h->chunk_hint[first >= c->smalls], first);
}

#endif
