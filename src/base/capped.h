/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capped.h: sums of counts that a hostile program or file may have written: they stop at the most
 * that a cell of SQLite holds.
 *
 * Runs: sidecar, CLI. Signals: any. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_CAPPED_H
#define SHINY_CAPPED_H

#include <stdint.h>

static inline uint64_t capped_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? INT64_MAX : sum;
}

#endif
