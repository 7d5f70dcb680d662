/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nursery.c: reads the vptrs of young blocks at the right moment. nursery.h describes the protocol.
 *
 * A polymorphic object's first word is right from the end of its construction to the start of its
 * destruction. Nothing tells us either moment, so a block is read when some later allocation
 * happens to hash to its entry: with 4,096 entries that is mostly thousands of allocations after
 * its own, and after that it costs nothing more. A block that is freed before that is read at its
 * free, and the record says so.
 *
 * Rejected: reading at the next allocation (a base constructor may still be running: 25 % wrong in
 * node), reading at the free only (destructors have rewritten the word: up to 99 % wrong), locks (a
 * forked child or a handler would inherit them held), sparing the read of a freed block by checking
 * that the page is mapped (a system call, and a page that is mapped can belong to somebody else).
 *
 * Not covered: a block that an unhooked function frees and then unmaps would be read after its end.
 * Blocks of whole pages never enter; other blocks lie in the allocator's slabs and heaps, which it
 * unmaps only when all their blocks have been freed.
 *
 * Nor is a constructor that allocates itself: one of its allocations may push the block out while
 * it runs, and the word is then that of the base class it has reached. Addresses decide which one
 * does so, so call sites with a block or two may differ from run to run (test/e2e/types_stable_test
 * counts them in Chromium). The sidecar doubts a reading whose pusher's stack may be that of such a
 * constructor (apply_block.c); the inside can't tell it from a settled one: a second look needs a
 * second table, on every allocation; at the free the word may be a destructor's; and a block that
 * lives to the end has no free.
 *
 * A reader calls no release function itself: it notes the block in its writer, and si_leave
 * releases it once `busy` is cleared.
 */
#include "nursery.h"

#include "../core/clock.h"
#include "../core/granule.h"
#include "process.h"

uint64_t si_nursery[SI_NURSERY];
uint32_t si_nursery_used;
static si_release_fn *releases[SI_NURSERY]; /* valid only while the entry is an ORPHAN */

/* PATIENCE_OBJECT: a reader that does not finish in so many looks, a second, has ended. */
enum { PATIENCE = 20000, PATIENCE_OBJECT = 1 << 24 };

/* Reference counts: of an object in use; by how much other code may have moved that of an object
 * that lives for ever. */
enum { COUNT_MOST = 1 << 20, COUNT_DRIFT = 1 << 16, TYPE_LEAST = 1 << 16 };

#ifdef SHINY_TEST
void (*si_nursery_test_pause)(void);
void (*si_nursery_test_handed)(void);
#define TEST_PAUSE()  (si_nursery_test_pause ? si_nursery_test_pause() : (void)0)
#define TEST_HANDED() (si_nursery_test_handed ? si_nursery_test_handed() : (void)0)
#else
#define TEST_PAUSE()  ((void)0)
#define TEST_HANDED() ((void)0)
#endif

#define BLOCK(entry) ((entry) & SI_NURSERY_BLOCK)

static void write_word(struct si_writer *w, uint64_t block, uint64_t word, unsigned reading,
		       uint64_t now)
{
	uint64_t when = 0;

	if (!si_room(w, 1, now)) {
		si_count(SHINY_COUNT_TYPES_SKIPPED);
		return;
	}
	/* the previous record may be older than the block; for SETTLED it is the event that pushed
	 * the block out, which is not */
	if ((reading & ~(unsigned)(SHINY_VPTR_SECOND_WORD | SHINY_VPTR_TYPE_OBJECT)) !=
	    SHINY_VPTR_SETTLED)
		when = si_when(w, now);
	shiny_publish(w->next, shiny_vptr_w0(block >> SHINY_GRANULE_SHIFT, when),
		      shiny_vptr_w1(word, when, reading)); /* [pub] */
	w->next++;
}

/* True for a reference count of CPython: of an object that is about to be freed, 0. Objects that
 * live for ever have UINT32_MAX since 3.12. */
static bool is_count(uint64_t count, bool freed)
{
	return count - !freed < COUNT_MOST ||
	       count - (UINT32_MAX - COUNT_DRIFT) < 2 * COUNT_DRIFT;
}

/*
 * Writes the type of an object of CPython. It begins with a reference count and the address of its
 * type; in front of these may be two words for the collector, and in front of those two more for a
 * dictionary and weak references, none of which look like that. So the words are the first pair
 * that does. The sidecar knows which addresses are type objects.
 */
static void write_object(struct si_writer *w, uint64_t entry, unsigned reading, uint64_t now)
{
	const uint64_t *words = (const uint64_t *)BLOCK(entry);

	for (unsigned i = 0; i < SI_NURSERY_OBJECT(entry); i++) {
		uint64_t count = __atomic_load_n(&words[2 * i], __ATOMIC_RELAXED),
			 type = __atomic_load_n(&words[2 * i + 1], __ATOMIC_RELAXED);

		if (!is_count(count, reading == SHINY_VPTR_FREE) || type % sizeof(type) ||
		    type < TYPE_LEAST || type >> SI_OBJECT_SHIFT)
			continue;
		write_word(w, BLOCK(entry), type, reading | SHINY_VPTR_TYPE_OBJECT, now);
		return;
	}
}

void si_vptr_write(struct si_writer *w, uint64_t entry, unsigned reading, uint64_t now)
{
	const uint64_t *words = (const uint64_t *)BLOCK(entry);
	uint64_t first, second;

	if (SI_UNLIKELY(SI_NURSERY_OBJECT(entry))) {
		write_object(w, entry, reading, now);
		return;
	}
	first = __atomic_load_n(&words[0], __ATOMIC_RELAXED);
	if (si_maybe_vtable(first))
		write_word(w, BLOCK(entry), first, reading, now);
	if (!(entry & SI_TWO))
		return;
	second = __atomic_load_n(&words[1], __ATOMIC_RELAXED);
	if (si_maybe_vtable(second))
		write_word(w, BLOCK(entry), second, reading | SHINY_VPTR_SECOND_WORD, now);
}

/* Ends a reading: the entry becomes `next`, and the reader frees an orphan. */
static void finish(struct si_writer *w, uint32_t slot, uint64_t entry, uint64_t next)
{
	uint64_t seen = entry | SI_BUSY;

	/* [done] */
	if (!__atomic_compare_exchange_n(&si_nursery[slot], &seen, next, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE) &&
	    seen == (entry | SI_BUSY | SI_ORPHAN)) {
		w->orphan_release = releases[slot];
		w->orphan = (uint64_t *)BLOCK(entry);
		/* a freed block does not enter again; a fresh one does */
		__atomic_store_n(&si_nursery[slot], BLOCK(next) == BLOCK(entry) ? 0 : next,
				 __ATOMIC_RELEASE);
	}
	w->reading = 0;
}

static bool mark(struct si_writer *w, uint32_t slot, uint64_t entry)
{
	/* stored before the mark: a repair after a longjmp checks the entry itself */
	w->reading = slot + 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* [mark] */
	if (__atomic_compare_exchange_n(&si_nursery[slot], &entry, entry | SI_BUSY, 0,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		TEST_PAUSE();
		return true;
	}
	w->reading = 0;
	return false;
}

void si_nursery_push(struct si_writer *w, uint32_t slot, uint64_t old, uint64_t fresh, uint64_t now)
{
	if (old == 0) {
		if (SI_UNLIKELY(!si_nursery_is_used()))
			__atomic_store_n(&si_nursery_used, 1, __ATOMIC_RELAXED);
		/* [in] */
		if (!__atomic_compare_exchange_n(&si_nursery[slot], &old, fresh, 0,
						 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			si_count(SHINY_COUNT_TYPES_SKIPPED);
		return;
	}
	/* an earlier block at this very address was freed unseen: it is not read, only replaced */
	if (BLOCK(old) == BLOCK(fresh)) {
		if (!(old & SI_BUSY))
			__atomic_compare_exchange_n(&si_nursery[slot], &old, fresh, 0,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED); /* [in] */
		return;
	}
	if ((old & SI_BUSY) || !mark(w, slot, old)) {
		si_count(SHINY_COUNT_TYPES_SKIPPED);
		return;
	}
	si_vptr_write(w, old, SHINY_VPTR_SETTLED, now);
	finish(w, slot, old, fresh);
}

/* Removes the entry, which is not BUSY, if it is still the same. */
static bool take(uint32_t slot, uint64_t *entry, uint64_t *held)
{
	/* [out] */
	if (!__atomic_compare_exchange_n(&si_nursery[slot], entry, 0, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	*held = *entry;
	return true;
}

/* Waits until the entry of an object is not BUSY, and removes it if it is still the block's. */
static void take_object(uint32_t slot, uint64_t block, uint64_t *held)
{
	uint64_t entry = __atomic_load_n(&si_nursery[slot], __ATOMIC_RELAXED);

	for (unsigned n = 0; BLOCK(entry) == block && n < PATIENCE_OBJECT; n++) {
		if (!(entry & SI_BUSY) && take(slot, &entry, held))
			return;
		__builtin_ia32_pause();
		entry = __atomic_load_n(&si_nursery[slot], __ATOMIC_ACQUIRE); /* [done] */
	}
}

bool si_nursery_hand_over(uint32_t slot, uint64_t block, si_release_fn *release, uint64_t *held,
			  uint64_t *freed)
{
	uint64_t entry = __atomic_load_n(&si_nursery[slot], __ATOMIC_RELAXED);

	while (BLOCK(entry) == block) {
		if (SI_NURSERY_OBJECT(entry)) {
			take_object(slot, block, held);
			return true;
		}
		if (!(entry & SI_BUSY)) {
			if (take(slot, &entry, held))
				return true;
			continue;
		}
		if (entry & SI_ORPHAN)
			return true; /* freed twice: the allocator reports it */
		/* no other thread frees this block, and an entry holds one block: only we set it */
		releases[slot] = release;
		/* from here on the address may hold a new block, whose birth is later */
		*freed = si_ticks();
		/* [orphan] */
		if (__atomic_compare_exchange_n(&si_nursery[slot], &entry, entry | SI_ORPHAN, 0,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
			TEST_HANDED();
			si_count(SHINY_COUNT_FREES_HANDED_OVER);
			return false;
		}
	}
	return true;
}

bool si_nursery_take_for_realloc(const struct si_writer *w, void *block, uint64_t *held)
{
	uint32_t slot = si_nursery_slot(block);
	uint64_t entry = __atomic_load_n(&si_nursery[slot], __ATOMIC_RELAXED);

	*held = 0;
	for (unsigned n = 0; BLOCK(entry) == (uintptr_t)block; n++) {
		if (SI_NURSERY_OBJECT(entry)) {
			take_object(slot, (uintptr_t)block, held);
			return true;
		}
		if (!(entry & SI_BUSY)) {
			if (take(slot, &entry, held))
				return true;
			continue;
		}
		if (n > PATIENCE || (w && w->reading == slot + 1))
			return false;
		__builtin_ia32_pause();
		entry = __atomic_load_n(&si_nursery[slot], __ATOMIC_RELAXED);
	}
	return true;
}

void si_nursery_settle(struct si_writer *w, const void *block)
{
	uint32_t slot = si_nursery_slot(block);
	uint64_t entry = __atomic_load_n(&si_nursery[slot], __ATOMIC_RELAXED);

	if (BLOCK(entry) != (uintptr_t)block || entry & SI_BUSY || !mark(w, slot, entry))
		return;
	si_vptr_write(w, entry, SHINY_VPTR_SETTLED, si_ticks());
	finish(w, slot, entry, 0);
}

void si_nursery_read(struct si_writer *w, uint32_t slot, unsigned reading)
{
	uint64_t entry = __atomic_load_n(&si_nursery[slot], __ATOMIC_RELAXED);

	if (entry == 0 || (entry & SI_BUSY) || !mark(w, slot, entry))
		return;
	/* one clock for each: a time from the sweep's beginning is older than blocks allocated
	 * during it, and their readings would count for earlier blocks at their addresses */
	si_vptr_write(w, entry, reading, si_ticks());
	finish(w, slot, entry, entry);
}

void si_nursery_forget(void)
{
	for (uint32_t slot = 0; slot < SI_NURSERY; slot++)
		if (si_nursery[slot] & SI_BUSY)
			si_nursery[slot] = 0;
}

void si_nursery_abandon(struct si_writer *w)
{
	uint32_t slot = w->reading - 1;
	uint64_t entry = __atomic_load_n(&si_nursery[slot], __ATOMIC_RELAXED);

	/* `reading` is set just before the mark and cleared just after: only by a rare chance is
	 * BUSY another thread's, and that reader's finish() finds the entry changed and leaves
	 * it */
	if (entry & SI_BUSY)
		finish(w, slot, entry & ~(uint64_t)(SI_BUSY | SI_ORPHAN), 0);
	w->reading = 0;
}
