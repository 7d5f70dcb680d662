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
	uint32_t pairs; /* each step went by a frame pointer and a return address next to each
	                 * other: so many were read; 0: not so */
	bool exact;     /* rows led it all the way */
	bool cut;       /* it ended at something that it did not understand */
};

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
