/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.h: who called, in code that keeps no frame pointers: a walk by rows.
 *
 * Runs:      inside, between si_enter and si_leave.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   the stream's own.
 */
#ifndef SI_UNWIND_H
#define SI_UNWIND_H

#include "rows.h"
#include "../record/writer.h"

/* What else is known of a walk. */
struct si_walked {
	bool exact;     /* rows led it all the way */
	bool cut;       /* it ended at something that it did not understand */
	bool unnoted;   /* it depended on more than is noted */
	uint32_t words; /* that it depended on, noted in `word` */
	uintptr_t values, distances; /* all of those words, and of their places, or'ed */
	uint64_t word[2 * SHINY_FRAMES_MAX + 1];
};

/* A word of the stack and its place: 48 bits of the word, and its distance from the hook's frame in
 * words. Addresses fit; a walk that read another word, or beyond 512 KiB, is not kept. */
enum { SI_KEPT_WORD_BITS = 48 };
#define SI_KEPT_WORD(value, distance) ((value) | (uint64_t)(distance) << SI_KEPT_WORD_BITS)
#define SI_KEPT_VALUE(word)	      ((word) & ((UINT64_C(1) << SI_KEPT_WORD_BITS) - 1))

/* The walk from `fp` depends on `value`, which it read at `at`. */
SI_HOT void si_walked_note(struct si_walked *walked, const uintptr_t *fp, uintptr_t at,
			   uintptr_t value)
{
	uintptr_t distance = at - (uintptr_t)fp;

	walked->values |= value;
	walked->distances |= distance;
	walked->word[walked->words++] = SI_KEPT_WORD(value, distance / sizeof(*fp));
}

/* Do the words noted say all that the walk depended on, and is there room to keep them? */
static inline bool si_walked_fits(const struct si_walked *walked)
{
	return !walked->unnoted && walked->words - 1 < SI_KEPT_WALK_WORDS &&
	       (walked->values >> SI_KEPT_WORD_BITS | walked->distances >> 19 |
		walked->distances % sizeof(uintptr_t)) == 0;
}

/* Nothing is known of a walk that is about to begin. */
static inline void si_walked_begin(struct si_walked *walked)
{
	walked->words = 0;
	walked->values = walked->distances = 0;
	walked->exact = walked->cut = walked->unnoted = false;
}

/*
 * Return addresses from the hook's frame `fp` outwards, at most `depth` ≥ 1. Every word read lies
 * between fp and the end of this thread's stack, or of fp's page where its stack is not known. Rows
 * that are missing are made; for modules that are new, `w` is told.
 */
uint32_t si_unwind_walk(struct si_writer *w, const uintptr_t *fp, uint32_t depth, uintptr_t *frames,
			struct si_walked *walked);

/* A word of the stack. Code without frame pointers can lead the walk to any, also to those that a
 * sanitizer has poisoned. */
#ifdef SHINY_TEST
__attribute__((noinline, no_sanitize("address"), unused)) static uintptr_t si_stack_word(
	const uintptr_t *at)
#else
SI_HOT uintptr_t si_stack_word(const uintptr_t *at)
#endif
{
	return *at;
}

/* The end of the stack that `fp` is on, as far as it is known. */
static inline uintptr_t si_stack_high(const uintptr_t *fp)
{
	return SI_LIKELY((uintptr_t)fp >= si_tls.stack_low && (uintptr_t)fp < si_tls.stack_high)
		       ? si_tls.stack_high
		       : ((uintptr_t)fp | 4095) + 1;
}

/* Is there a call instruction that ends at `pc`? Its bytes must be there to read. */
bool si_after_call(uintptr_t pc);

/* Boot: where libc calls main from; outside of it nothing of the program is. 0: unknown. */
SI_INTERNAL uintptr_t si_unwind_start_main;

#endif
