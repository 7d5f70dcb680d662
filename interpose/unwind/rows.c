/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

struct si_row_entry si_rows[SI_ROWS];
uint64_t si_rows_epoch;
uint64_t si_doubts[SI_DOUBT_WORDS] __attribute__((aligned(64)));

void si_row_store(uintptr_t pc, uint64_t generation, uint64_t row)
{
	struct si_row_entry *e = &si_rows[si_row_slot(pc)];

	__atomic_store_n(&e->row, row, __ATOMIC_RELAXED);
	__atomic_store_n(&e->check, row ^ si_row_tag(pc, generation), __ATOMIC_RELAXED);
}

void si_row_doubt(uintptr_t pc, uint64_t generation, uint64_t row)
{
	uint64_t bit, *word = si_doubt_word(pc, &bit);

	si_row_store(pc, generation, row);
	__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
	__atomic_fetch_add(&si_rows_epoch, 1, __ATOMIC_RELEASE);
}

void si_rows_forget(void)
{
	for (size_t i = 0; i < SI_ROWS; i++) {
		__atomic_store_n(&si_rows[i].row, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&si_rows[i].check, 0, __ATOMIC_RELAXED);
	}
	for (size_t i = 0; i < SI_DOUBT_WORDS; i++)
		__atomic_store_n(&si_doubts[i], 0, __ATOMIC_RELAXED);
}
