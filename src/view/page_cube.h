/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_cube.h: the counts that a page adds up when its reader filters it: two tables, by sample,
 * maker and interval. A maker is the thread that allocated, with its tag (table tag).
 *
 * Runs: CLI. Signals: no. Allocates: what cube_cells.h says, 4 bytes a live block, and 640 KiB.
 * Threads: one a store; cells are counted by another (change_queue.h), which also calls `fold`.
 *
 * lives   blocks by sample, maker, interval of their birth, power of two of their lifetime, and how
 *         they ended: so any choice of intervals, makers and samples has its blocks, its bytes, its
 *         live ones at the end, and its lifetimes, as in `lifetimes --between`
 * changes changes of a sample's live blocks and bytes in an interval: their running sum is live
 *
 * Samples of little weight are folded into rows of page_data.h: `kept` says which row each has. As
 * soon as the cells are more than a page can hold, rows are folded further (page_cube_fold()), and
 * in the end the makers (page_cube_fold_makers()): the number of cells only grows, so a session
 * with too many at one time has too many at its end, and memory never holds more than a page does.
 * Rows are coarser than necessary only if makers exceed CUBE_MAKERS after rows were folded.
 */
#ifndef SHINY_PAGE_CUBE_H
#define SHINY_PAGE_CUBE_H

#include "cube_cells.h"
#include "profile.h"

struct cube_maker {
	uint32_t thread, tag; /* ids; 0: unknown, none */
};

struct page_cube {
	struct cube_cells lives, changes;
	struct hash_table maker_table;
	VEC(struct cube_maker) makers; /* [0]: no maker; zeroed: empty */
	bool many_makers;   /* more than CUBE_MAKERS: fold them */
	bool makers_folded; /* all counts are of maker 0 */
	const uint32_t *kept; /* sample + 1 → row; [0]: the row of no sample */
	const uint32_t *finest; /* the first `kept` */
	size_t most;            /* most cells before `fold` is called */
	void (*fold)(void *context); /* called when there are more cells or too many makers, to fold
				      * them; NULL: no limit */
	void *context;
	const struct profile *profile;
	uint64_t interval; /* ns; the profile's duration has at most CUBE_INTERVALS of them */
	unsigned folds; /* number of folds so far */
};

/* Counts the session's blocks. */
SHINY_MUST_CHECK struct shiny_err *page_cube_load(struct store *store, const struct filter *filter,
						  bool progress, struct page_cube *cube);
size_t page_cube_cells(const struct page_cube *cube);
/* Adds up the cells again after rows were folded: row i is now row into[i]. */
void page_cube_fold(struct page_cube *cube, const uint32_t *into);
/* Moves all cells to maker 0. After page_cube_load(), `makers` then has no other. */
void page_cube_fold_makers(struct page_cube *cube);
/* Sorts by sample, maker, interval, bin, end: the order of page_cells_put(). No cell can be added
 * after that. */
void page_cube_sort(struct page_cube *cube);
void page_cube_deinit(struct page_cube *cube);

#endif
