/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h: a cache of the rows (cfi.h) of return addresses.
 *
 * Runs: inside, between si_enter and si_leave; modules.c forgets all of them. Signals: safe.
 * Allocates: nothing; a table of 256 KiB, touched as used. Threads: the table is shared by all; see
 * `si_rows`.
 */
#ifndef SI_ROWS_H
#define SI_ROWS_H

#include "../core/base.h"
#include "cfi.h"

/*
 * An entry of a direct-mapped table: two words that any thread stores at any time, relaxed, without
 * order between them:
 *
 *   check ^ row == pc | generation << 47
 *
 * so a pair of two writers' halves matches no address (or, by a chance of 2^-64, gives a wrong row:
 * a wrong stack, no bad read). The generation is the module tables', which changes with every
 * change of the loaded modules: older entries match no more. The table is ordinary memory: a forked
 * child has its parent's modules, so the entries hold there too.
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

/* Returns the cached row of the return address `pc`; SI_ROW_NONE: it is not cached. */
SI_HOT uint64_t si_row_find(uintptr_t pc, uint64_t generation)
{
	const struct si_row_entry *e = &si_rows[si_row_slot(pc)];
	uint64_t row = __atomic_load_n(&e->row, __ATOMIC_RELAXED),
		 check = __atomic_load_n(&e->check, __ATOMIC_RELAXED);

	return SI_LIKELY((check ^ row) == si_row_tag(pc, generation)) ? row : SI_ROW_NONE;
}

/* A filter of the addresses that have led astray, in one cache line: a bit of 0 is a sure no. */
enum { SI_DOUBT_WORDS = 8 };
SI_INTERNAL uint64_t si_doubts[SI_DOUBT_WORDS];

static inline uint64_t *si_doubt_word(uintptr_t pc, uint64_t *bit)
{
	uint64_t hash = pc * UINT64_C(0xd1342543de82ef95) >> 55;

	*bit = UINT64_C(1) << hash % 64;
	return &si_doubts[hash / 64];
}

SI_HOT bool si_row_is_doubted(uintptr_t pc)
{
	uint64_t bit;

	return __atomic_load_n(si_doubt_word(pc, &bit), __ATOMIC_RELAXED) & bit;
}

void si_row_store(uintptr_t pc, uint64_t generation, uint64_t row);
/* Replaces the row of an address that has led astray. */
void si_row_doubt(uintptr_t pc, uint64_t generation, uint64_t row);
/* Forgets all rows, when the generation has wrapped around. */
void si_rows_forget(void);

/* Changes whenever a walk that reads the same words may find other frames than before: with the
 * generation, and with a doubt. */
SI_INTERNAL uint64_t si_rows_epoch;

#endif
