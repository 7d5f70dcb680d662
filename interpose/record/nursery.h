/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nursery.h: a table of recently allocated blocks, from which their vptr is read after construction
 * and before destruction.
 *
 * Runs:      inside.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any. One table for the process.
 *
 * Who runs it
 *   Any thread that allocates puts its block in and thereby pushes another out, which it reads; any
 *   thread that frees takes its block out.
 *
 *   entry   63  62 ── 49  48 47    46 ───────── 3   2   1      0
 *           1    birth    OBJECT    block address  TWO ORPHAN BUSY
 *   An entry of 0 is empty, and no other one is an address: a leak checker in the program looks for
 *   those in all variables. TWO: the block has a second word. Birth: bits 4 to 17 of the ticks at
 *   which it was allocated. They distinguish it from a later block at its address, which may enter
 *   between a pusher's look at the entry and the mark, and would be read too young, and counted as
 *   its predecessor. Two blocks of one address are born more than 16 ticks apart; if they are a
 *   multiple of a quarter of a million ticks apart, which is one such case in 16,384, it is not
 *   noticed.
 *   OBJECT, if not 0: the block is a run time's object, or may be, with a type object instead of a
 *   vptr; it has 2, 4 or 6 words at least. No other thread may free such a block: its freer waits
 *   for a reader, who is never interrupted for long.
 *
 * Invariants
 *   N1  A block's memory is read by a pusher or sweeper only while its entry is BUSY, and by its
 *       own freer only after it took it out.
 *   N2  A block whose entry is BUSY is not freed before the reader is done: its freer sets ORPHAN
 *       and leaves the real free to the reader.
 *   N3  One block stands in one entry: the hash decides, and only its own allocation puts it there.
 *
 * Ordering edges
 *   [in]      0 or old|BUSY → new, release: the block's ALLOC record comes before in its stream.
 *   [mark]    block → block|BUSY, acquire.
 *   [out]     block → 0 by its freer, acquire; before the free's clock is read, so a reading is
 *             always earlier than the free's time.
 *   [orphan]  block|BUSY → block|BUSY|ORPHAN, release, after the entry's release function was
 *             stored and the free's clock was read: the address may be reused at once. A reading
 *             for FLUSH may be later than such a free, and then belongs to no block. The reader:
 *             acquire. No other thread changes an orphaned entry.
 *   [done]    block|BUSY → the next entry, by the reader, acq_rel.
 *
 * If the reader dies at any step (its process ends, or a child is forked meanwhile): the entry
 * stays BUSY in memory that is no longer used, or si_nursery_forget clears it. If a handler leaves
 * it by longjmp: si_nursery_abandon.
 */
#ifndef SI_NURSERY_H
#define SI_NURSERY_H

#include "chunk.h"

enum { SI_NURSERY_BITS = 12, SI_NURSERY = 1 << SI_NURSERY_BITS };
enum { SI_BUSY = 1, SI_ORPHAN = 2, SI_TWO = 4 };
SI_INTERNAL uint64_t si_nursery[SI_NURSERY];

/* Set before the first block enters, never cleared: a thread that frees a block of the nursery sees
 * it. */
SI_INTERNAL uint32_t si_nursery_used;
static inline bool si_nursery_is_used(void)
{
	return __atomic_load_n(&si_nursery_used, __ATOMIC_RELAXED);
}

static inline uint32_t si_nursery_slot(const void *block)
{
	return (uint32_t)(((uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15) >>
			  (64 - SI_NURSERY_BITS));
}

enum { SI_BIRTH_BITS = 14, SI_BIRTH_FROM = 4, SI_OBJECT_SHIFT = 47, SI_OBJECT_MOST = 3 };
#define SI_NURSERY_BLOCK \
	(((UINT64_C(1) << SI_OBJECT_SHIFT) - 1) & ~(uint64_t)(SI_BUSY | SI_ORPHAN | SI_TWO))
#define SI_NURSERY_OBJECT(entry) ((unsigned)((entry) >> SI_OBJECT_SHIFT) & SI_OBJECT_MOST)

/* Returns the entry of a block that was allocated at `now`. */
static inline uint64_t si_nursery_entry(const void *block, size_t size, uint64_t now)
{
	return UINT64_C(1) << 63 | now >> SI_BIRTH_FROM << (64 - SI_BIRTH_BITS) >> 1 |
	       (uintptr_t)block | (size >= 2 * sizeof(uint64_t) ? SI_TWO : 0);
}

/* Returns what an entry has in addition if its block, of two words at least, may be an object of a
 * run time. */
static inline uint64_t si_nursery_object(size_t size)
{
	size_t pairs = size / (2 * sizeof(uint64_t));

	return (pairs < SI_OBJECT_MOST ? pairs : SI_OBJECT_MOST) << SI_OBJECT_SHIFT;
}

/* False for blocks of whole pages, which their owner may protect or unmap, and for blocks without
 * room for a vptr. */
static inline bool si_nursery_takes(const void *block, size_t size)
{
	uintptr_t at = (uintptr_t)block;

	return size >= sizeof(uint64_t) && (at & 7) == 0 && at >> 47 == 0 &&
	       !((at & 4095) == 0 && size >= 4096);
}

/* Prefetches the block of an entry that will be read soon: it was allocated thousands of
 * allocations ago, so it is in no cache. The prefetch does no harm even if the block was
 * unmapped. */
static inline void si_nursery_will_push_out(uint64_t old)
{
	__builtin_prefetch((const void *)(uintptr_t)(old & SI_NURSERY_BLOCK));
}

/* Enters a block. `old` is the entry as read before this event's clock, so a block that is pushed
 * out was born before that. */
void si_nursery_push(struct si_writer *w, uint32_t slot, uint64_t old, uint64_t fresh,
		     uint64_t now);

/* The rare half of si_nursery_take: the entry is this block's and BUSY. True: the caller frees the
 * block, `*held` as below; false: the reader will, perhaps before this returns; `*freed` is a time
 * before that. */
SI_COLD bool si_nursery_hand_over(uint32_t slot, uint64_t block, si_release_fn *release,
				  uint64_t *held, uint64_t *freed);

/*
 * Removes a block before it is freed. False: the block was handed over to its reader, and `*freed`
 * is the free's time. `*held` is the entry if the block was in the nursery, with its TWO bit, so
 * that the caller may still read the block; else 0.
 */
static inline bool si_nursery_take(void *block, si_release_fn *release, uint64_t *held,
				   uint64_t *freed)
{
	uint32_t slot = si_nursery_slot(block);
	uint64_t entry = __atomic_load_n(&si_nursery[slot], __ATOMIC_RELAXED);

	*held = 0;
	if (SI_LIKELY((entry ^ (uintptr_t)block) & SI_NURSERY_BLOCK))
		return true;
	if (SI_LIKELY(!(entry & SI_BUSY)) &&
	    __atomic_compare_exchange_n(&si_nursery[slot], &entry, 0, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED)) { /* [out] */
		*held = entry;
		return true;
	}
	return si_nursery_hand_over(slot, (uintptr_t)block, release, held, freed);
}

/* Removes a block before realloc; false: it is being read, and the reader does not finish soon.
 * `*held` as above. */
bool si_nursery_take_for_realloc(const struct si_writer *w, void *block, uint64_t *held);

/* Writes VPTR records for a block that may be read; each has the time of its predecessor in the
 * stream. */
void si_vptr_write(struct si_writer *w, uint64_t entry, unsigned reading, uint64_t now);

static inline bool si_nursery_has(uint32_t slot)
{
	uint64_t entry = __atomic_load_n(&si_nursery[slot], __ATOMIC_RELAXED);

	return entry && !(entry & SI_BUSY);
}

static inline bool si_nursery_has_block(const void *block)
{
	uint64_t entry =
		__atomic_load_n(&si_nursery[si_nursery_slot(block)], __ATOMIC_RELAXED);

	return (entry & SI_NURSERY_BLOCK) == (uintptr_t)block;
}

/* Reads a block of this stream as one that is pushed out, and removes it. */
void si_nursery_settle(struct si_writer *w, const void *block);

/* Reads the block in `slot`, if there is one, for `reading` = FLUSH or EXIT; the block stays in. */
void si_nursery_read(struct si_writer *w, uint32_t slot, unsigned reading);

#ifdef SHINY_TEST
/* Called between the mark and the read, so that a test can extend that moment. */
extern void (*si_nursery_test_pause)(void);
/* Called when a free has been handed over, before the freeing thread continues. */
extern void (*si_nursery_test_handed)(void);
#endif

void si_nursery_forget(void);
void si_nursery_abandon(struct si_writer *w);

#endif
