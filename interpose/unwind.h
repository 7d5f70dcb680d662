/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.h: who called, in code that keeps no frame pointers: a cache of rows (cfi.h) and a walk by them.
 *
 * Runs:      inside, between si_enter and si_leave.
 * Signals:   safe.
 * Allocates: nothing; a table of 256 KiB, touched as used.
 * Threads:   the table is shared by all; see `si_rows`.
 */
#ifndef SI_UNWIND_H
#define SI_UNWIND_H

#include "cfi.h"
#include "module.h"
#include "thread.h"

/* SHINY_UNWIND's words, in their order. */
enum si_unwind { SI_UNWIND_AUTO = 0, SI_UNWIND_FP = 1, SI_UNWIND_ROWS = 2, SI_UNWIND_CALLER = 3 };

/*
 * Direct-mapped. Two words that any thread stores at any time, relaxed, without order between them:
 *
 *   check ^ row == pc | generation << 47
 *
 * so a pair of two writers' halves matches no address (or, by a chance of 2^-64, gives a wrong row: a wrong stack, no bad read).
 * The generation is the module tables', which changes with every change of the loaded modules: what was known of the old
 * ones matches no more. Ordinary memory: a forked child's modules are its parent's, and so is what is known of them.
 */
struct si_row_entry {
	uint64_t check, row;
};
enum { SI_GENERATIONS = 1 << 17 };
enum { SI_ROW_BITS = 14, SI_ROWS = 1 << SI_ROW_BITS };
SI_INTERNAL struct si_row_entry si_rows[SI_ROWS];

static inline uint64_t si_row_tag(uintptr_t pc, uint64_t generation)
{
	return pc ^ generation << 47;
}

static inline size_t si_row_slot(uintptr_t pc)
{
	return (size_t)((pc * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - SI_ROW_BITS));
}

/* What is known of the return address `pc`; SI_ROW_NONE: nothing. */
SI_HOT uint64_t si_row_find(uintptr_t pc, uint64_t generation)
{
	const struct si_row_entry *e = &si_rows[si_row_slot(pc)];
	uint64_t row = __atomic_load_n(&e->row, __ATOMIC_RELAXED), check = __atomic_load_n(&e->check, __ATOMIC_RELAXED);

	return SI_LIKELY((check ^ row) == si_row_tag(pc, generation)) ? row : SI_ROW_NONE;
}

void si_row_store(uintptr_t pc, uint64_t generation, uint64_t row);
/* The same of an address that was known otherwise: it has led astray. */
void si_row_doubt(uintptr_t pc, uint64_t generation, uint64_t row);
/* All of them: the generation has gone round. */
void si_rows_forget(void);

/* Changes whenever a walk of the same words may give other frames than before: with the generation, and with a doubt. */
SI_INTERNAL uint64_t si_rows_epoch;

/* What else is known of a walk. */
struct si_walked {
	uint32_t pairs; /* each step went by a frame pointer and a return address next to each other: so many were read; 0: not so */
	bool cut;       /* it ended at something that it did not understand */
};

/*
 * Return addresses from the hook's frame `fp` outwards, at most `depth` ≥ 1. Every word read lies between fp and the end of this
 * thread's stack, or of fp's page where its stack is not known. Rows that are missing are made; for modules that are new, `w` is told.
 */
uint32_t si_unwind_walk(struct si_writer *w, const uintptr_t *fp, uint32_t depth, uintptr_t *frames, struct si_walked *walked);

/* A word of the stack. Code without frame pointers can lead the walk to any, also to those that a sanitizer has poisoned. */
#ifdef SHINY_TEST
__attribute__((noinline, no_sanitize("address"), unused)) static uintptr_t si_stack_word(const uintptr_t *at)
#else
SI_HOT uintptr_t si_stack_word(const uintptr_t *at)
#endif
{
	return *at;
}

/* Boot: where libc calls main from; outside of it nothing of the program is. 0: unknown. */
SI_INTERNAL uintptr_t si_unwind_start_main;

#endif
