/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_memo.h: walks that need not be made again: the stack is looked at, word for word, and is as
 * it was.
 *
 * Runs:      inside, between si_enter and si_leave.
 * Signals:   safe: a handler that leaves by longjmp leaves a walk that is forgotten, not half a
 *            one.
 * Allocates: nothing; 5 or 152 KiB of each stream's own memory (thread.h), touched as used.
 * Threads:   the stream's own.
 *
 * Problem. A walk of 16 frames by rows is 16 dependent steps, each with a look into a table of 256
 * KiB, then a hash of 16 addresses: 70 of the 105 ns that an event of Oilpan's cost in Chromium.
 * Programs do the same again and again: of the objects of a page being built most are made where
 * one was made before, under the same callers, at the same depth.
 *
 * Approach. A walk is a function of the words that it reads, of where the thread's stack ends, and
 * of what is known about addresses (rows, module tables). So what it read is kept, and its result:
 * the stack's id. When a hook is entered again with the same frame address and the same caller, the
 * words are compared where they were found, innermost first; if all are the same, and nothing has
 * become known otherwise, then the walk would find the same frames, and isn't made. All words lie
 * between the hook's frame and the stack's end, which are compared first, so they may be read. The
 * ids are the stack cache's: the slot must still hold the key that it held.
 *
 *   word      every return address that was read; and of the saved frame pointers those that a step
 *             went by, or the end was decided by. Code that uses rbp for something else changes
 *             what it saves without changing the walk
 *   kept      walks along frame pointers, and by rows (unwind.c) with at most 32 such words. Walks
 *             over a signal's frame and over a stack that was realigned are made anew each time
 *   void      what was kept before another stream took this memory or ids were lost (salt), before
 *             modules came or went, and before an address was found to lead astray (si_rows_epoch)
 *
 * Rejected: believing the return address and the frame's address alone (a loop calls from the same
 * place under different callers); comparing only the outermost and innermost words; a hash of the
 * words (they must be read anyway, and a comparison is exact).
 */
#ifndef SI_STACK_MEMO_H
#define SI_STACK_MEMO_H

#include "unwind.h"

/*
 * By the frame's place and the two innermost callers: half of the walks that a page needs anew came
 * from wrappers, with the innermost one alone. The second caller is where it is if there is a frame
 * pointer; if not, it is any word of the stack.
 */
static inline struct si_kept_walk *si_kept_walk_slot(const struct si_writer *w, const uintptr_t *fp)
{
	uintptr_t next = si_stack_word(fp), pc = si_stack_word(fp + 1);

	if (SI_LIKELY(next - (uintptr_t)fp - 1 <
			      si_stack_high(fp) - (uintptr_t)fp - 2 * sizeof(uintptr_t) &&
		      next % sizeof(uintptr_t) == 0))
		pc += si_stack_word((const uintptr_t *)next + 1) * 5;
	return &w->kept_walks[(((uintptr_t)fp >> 3) + pc) * UINT64_C(0x9e3779b97f4a7c15) >>
			      w->kept_shift];
}

/* The id of the stack above `fp`, if it is one of those kept; else 0. */
SI_HOT uint32_t si_kept_walk_find(const struct si_writer *w, const uintptr_t *fp, uint32_t depth)
{
	const struct si_kept_walk *r = si_kept_walk_slot(w, fp);
	uint32_t words = r->words;

	if (r->fp != fp || r->id == 0 || r->depth != depth || r->salt != w->salt ||
	    r->high != si_stack_high(fp) ||
	    r->epoch != __atomic_load_n(&si_rows_epoch, __ATOMIC_RELAXED) ||
	    w->cache[r->id - 1] != r->key)
		return 0;
	for (uint32_t i = 0; i < words; i++) {
		size_t distance = r->word[i] >> SI_KEPT_WORD_BITS;

		if (SI_KEPT_VALUE(r->word[i]) != si_stack_word(fp + distance))
			return 0;
	}
	return r->id;
}

/* Keeps a walk that gave `id`, which the cache holds; `epoch` is from before the walk. */
void si_kept_walk_put(struct si_writer *w, const uintptr_t *fp, uint32_t depth,
		      const struct si_walked *walked, uint64_t epoch, uint32_t id);

#endif
