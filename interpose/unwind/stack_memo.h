/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_memo.h: caches walks: if every word that a walk read is unchanged, its result is reused.
 *
 * Runs:      inside, between si_enter and si_leave.
 * Signals:   safe: a handler that leaves by longjmp leaves a walk that is forgotten, not half a
 *            one.
 * Allocates: nothing; 4 or 68 KiB of each stream's own memory (writer.h), touched as used.
 * Threads:   the stream's own.
 *
 * Problem. A walk of 16 frames by rows is 16 dependent steps, each with a look into a table of 256
 * KiB, then a hash of 16 addresses: 70 of the 105 ns that an event of Oilpan's cost in Chromium.
 * Programs repeat themselves: while a page is built, most objects are created where one was created
 * before, under the same callers, at the same depth.
 *
 * Approach. A walk is a function of the words that it reads, of where the thread's stack ends, and
 * of what is known about addresses (rows, module tables). So the cache stores the places and a sum
 * of the words that it read, and its result, the stack's id. When a hook is entered again with the
 * same frame address and the same caller, the words at those places are summed up; if the sum is
 * the same, and the rows and module tables are too, then the walk would find the same frames, and
 * isn't made. All words lie between the hook's frame and the stack's end, which are compared first,
 * so they may be read. The ids are the stack cache's: no id of the set may have got another meaning
 * meanwhile.
 *
 * Its cost is cache misses. So a stack memo has two lines, not five: places in 16 bits, and one sum
 * of 64 bits for the words, as the stack cache knows a stack by 64 bits. The stack cache, 128 KiB,
 * is not read at all: its sets have versions of one byte, 4 KiB.
 *
 *   word      every return address that was read; and the saved frame pointers that a step or the
 *             end depended on. Code that uses rbp for something else changes the saved value
 *             without changing the walk
 *   kept      walks along frame pointers, and by rows (unwind.c) with at most 40 such words. Walks
 *             over a signal's frame and over a realigned stack are never cached
 *   void      walks cached before another stream took this memory or ids were lost (salt), before
 *             modules were loaded or unloaded, and before an address was found to lead astray
 *             (si_rows_epoch)
 *
 * Rejected: believing the return address and the frame's address alone (a loop calls from the same
 * place under different callers); comparing only the outermost and innermost words.
 */
#ifndef SI_STACK_MEMO_H
#define SI_STACK_MEMO_H

#include "unwind.h"

/*
 * Returns the cache entry for the frame's place and the two innermost callers. With the innermost
 * alone, wrappers caused half of the walks that a page repeats. The second caller is where it is if
 * there is a frame pointer; if not, it is any word of the stack.
 */
static inline struct si_stack_memo *si_stack_memo_slot(const struct si_writer *w,
						       const uintptr_t *fp)
{
	uintptr_t next = si_stack_word(fp), pc = si_stack_word(fp + 1);

	if (SI_LIKELY(next - (uintptr_t)fp - 1 <
			      si_tls.stack_high - (uintptr_t)fp - 2 * sizeof(uintptr_t) &&
		      next % sizeof(uintptr_t) == 0))
		pc += si_stack_word((const uintptr_t *)next + 1) * 5;
	return &w->stack_memos[(((uintptr_t)fp >> 3) + pc) * UINT64_C(0x9e3779b97f4a7c15) >>
			      w->kept_shift];
}

/* A sum of words: polynomials in four lanes, which do not wait for each other. */
enum { SI_STACK_MEMO_LANES = 4 };
struct si_memo_sum {
	uint64_t a, b, c, d;
};
SI_HOT void si_memo_sum_add(struct si_memo_sum *sum, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	const uint64_t base = UINT64_C(0xd1342543de82ef95);

	sum->a = sum->a * base + a;
	sum->b = sum->b * base + b;
	sum->c = sum->c * base + c;
	sum->d = sum->d * base + d;
}
/* Mixes two 64-bit numbers into one, each bit of which depends on all bits of both. */
SI_HOT uint64_t si_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}
/* Ends a sum. Two words change together by some multiples of 8, where one leads to the other: a
 * difference in one lane must not cancel one in another, so no two lanes are multiplied by the same
 * number. (Folded products, as in wyhash; the numbers are the fractions of the roots of 2, 3, 5 and
 * 7.) */
SI_HOT uint64_t si_memo_sum_end(const struct si_memo_sum *sum)
{
	return si_fold(sum->a ^ UINT64_C(0x6a09e667f3bcc908),
		       sum->b ^ UINT64_C(0xbb67ae8584caa73b)) ^
	       si_fold(sum->c ^ UINT64_C(0x3c6ef372fe94f82b),
		       sum->d ^ UINT64_C(0xa54ff53a5f1d36f1));
}

/* Returns the id of the stack above `fp`, if its walk is cached; else 0. */
SI_HOT uint32_t si_stack_memo_find(const struct si_writer *w, const uintptr_t *fp, uint32_t depth)
{
	const struct si_stack_memo *r = si_stack_memo_slot(w, fp);
	const uint16_t *at = r->distance;
	struct si_memo_sum sum = { 0 };

	if (r->fp != fp || r->id == 0 || r->depth != depth || r->salt != w->salt ||
	    r->high != si_tls.stack_high ||
	    r->epoch != __atomic_load_n(&si_rows_epoch, __ATOMIC_RELAXED) ||
	    r->version != w->versions[(r->id - 1) / SI_CACHE_WAYS])
		return 0;
	for (const uint16_t *end = at + r->words; at < end; at += SI_STACK_MEMO_LANES)
		si_memo_sum_add(&sum, si_stack_word(fp + at[0]), si_stack_word(fp + at[1]),
				si_stack_word(fp + at[2]), si_stack_word(fp + at[3]));
	return si_memo_sum_end(&sum) == r->sum ? r->id : 0;
}

/* Caches a walk that gave `id`, which the stack cache holds; `epoch` was read before the walk. */
void si_stack_memo_put(struct si_writer *w, const uintptr_t *fp, uint32_t depth,
		       struct si_walked *walked, uint64_t epoch, uint32_t id);

/* Voids the cached walks of a set, of which an id is about to get another meaning. */
SI_COLD void si_stack_memo_void(struct si_writer *w, uint32_t set);

#endif
