/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.h: walks the stack of code without frame pointers, by rows.
 *
 * Runs:      inside, between si_enter and si_leave.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   the stream's own.
 */
#ifndef SI_UNWIND_H
#define SI_UNWIND_H

#include "bare_code.h"
#include "rows.h"
#include "../record/writer.h"

/* A walk that read a word beyond 512 KiB is not cached. */
enum { SI_DISTANCE_BITS = 19 };

/*
 * Returns the row of the return address `pc`; SI_ROW_NONE: it must be made. The table has no rows
 * of bare code, except where it has led astray: most of Chromium's addresses would be there, tens
 * of thousands, each made at some microseconds in each process.
 */
SI_HOT uint64_t si_row_of(uintptr_t pc, uint64_t generation)
{
	if (si_is_bare_code(pc) && SI_LIKELY(!si_row_is_doubted(pc)))
		return SI_ROW_OF_BARE;
	return si_row_find(pc, generation);
}

/* Notes that the walk from `fp` depends on `value`, which it read at `at`. */
SI_HOT void si_walked_note(struct si_walked *walked, const uintptr_t *fp, uintptr_t at,
			   uintptr_t value)
{
	uintptr_t distance = at - (uintptr_t)fp;
	uint32_t i = walked->words++ % SI_WALKED_WORDS;

	walked->distances |= distance;
	walked->distance[i] = (uint16_t)(distance / sizeof(*fp));
	walked->word[i] = value;
}

/* True if the noted words are all that the walk depended on, and fit a cache entry. */
static inline bool si_walked_fits(const struct si_walked *walked)
{
	return !walked->unnoted && walked->words - 1 < SI_STACK_MEMO_WORDS &&
	       (walked->distances >> SI_DISTANCE_BITS |
		walked->distances % sizeof(uintptr_t)) == 0;
}

/* Resets the notes of a walk that is about to begin. */
static inline void si_walked_begin(struct si_walked *walked)
{
	walked->words = 0;
	walked->distances = 0;
	walked->exact = walked->assumed = walked->cut = walked->unnoted = false;
}

/*
 * Collects return addresses from the hook's frame `fp` outwards, at most `depth` ≥ 1; returns how
 * many. Every word read lies between fp, which must be on this thread's stack, and that stack's
 * end. Missing rows are made, and new modules recorded into `w`. `assume`: rows of addresses in
 * bare code are not looked up (bare_code.h); walked->assumed tells if there were any.
 */
uint32_t si_unwind_walk(struct si_writer *w, const uintptr_t *fp, uint32_t depth, uintptr_t *frames,
			struct si_walked *walked, bool assume);

/* Reads a word of the stack. Code without frame pointers can lead the walk to any word, also to
 * those that a sanitizer has poisoned. */
#ifdef SHINY_TEST
__attribute__((noinline, no_sanitize("address"), unused)) static uintptr_t si_stack_word(
	const uintptr_t *at)
#else
SI_HOT uintptr_t si_stack_word(const uintptr_t *at)
#endif
{
	return *at;
}

/* True if a call instruction ends at `pc`. Its bytes must be readable. */
bool si_after_call(uintptr_t pc);

/* The address in libc that calls main; beyond it no frame is the program's. 0: unknown. Set in
 * boot. */
SI_INTERNAL uintptr_t si_unwind_start_main;

#endif
