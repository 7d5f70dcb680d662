/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_cube.h: what a page adds up when somebody filters it: two tables of counts, by sample and
 * interval.
 *
 * Runs: CLI. Signals: no. Allocates: 40 bytes a cell. Threads: one a store.
 *
 * lives   blocks by sample, interval of their birth, power of two of their lifetime, and how they
 *         ended: so any choice of intervals and samples has its blocks, its bytes, what of it is
 *         live at the end, and its lifetimes, as `lifetimes --between` has them
 * changes by how much live blocks and bytes of a sample changed in an interval: their running sum
 *         is what was live
 *
 * Samples of little weight become one a process, type and component: `kept` says which is whose.
 */
#ifndef SHINY_PAGE_CUBE_H
#define SHINY_PAGE_CUBE_H

#include "../base/hash_table.h"
#include "profile.h"

enum page_end { PAGE_FREED, PAGE_GONE, PAGE_LIVE };

struct cube_cell {
	uint32_t sample;   /* kept */
	uint16_t interval;
	uint8_t bin;       /* lives: 2^bin ns <= lifetime; bin 0 also holds 0 */
	uint8_t end;       /* lives: enum page_end */
	int64_t blocks, bytes;
};
struct cube_cells {
	struct hash_table table;
	VEC(struct cube_cell) rows;
};
struct page_cube {
	struct cube_cells lives, changes;
	const uint32_t *kept; /* by sample + 1: a number; [0]: what has no sample */
	const struct profile *profile;
	uint64_t interval; /* ns */
};

/* Adds up the session. */
SHINY_MUST_CHECK struct shiny_err *page_cube_load(struct store *store, const struct filter *filter,
						  bool progress, struct page_cube *cube);
void page_cube_deinit(struct page_cube *cube);

#endif
