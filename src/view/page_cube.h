/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_cube.h: what a page adds up when somebody filters it: two tables of counts, by sample, maker
 * and interval. A maker is the thread that allocated, and what it was at (table tag).
 *
 * Runs: CLI. Signals: no. Allocates: what cube_cells.h says, 4 bytes a live block, and 640 KiB.
 * Threads: one a store; cells are counted by another (change_queue.h), which also calls `fold`.
 *
 * lives   blocks by sample, maker, interval of their birth, power of two of their lifetime, and how
 *         they ended: so any choice of intervals, makers and samples has its blocks, its bytes,
 *         what of it is live at the end, and its lifetimes, as `lifetimes --between` has them
 * changes by how much live blocks and bytes of a sample changed in an interval: their running sum
 *         is what was live
 *
 * Samples of little weight are folded into rows of page_data.h: `kept` says which row each has.
 * As soon as the cells are more than a page can hold, rows are folded further (page_cube_fold()),
 * and in the end the makers (page_cube_fold_makers()): cells only get more, so a session whose
 * cells are too many at one time has too many at its end, and what is kept until then is no more
 * than a page holds. Only where makers beyond CUBE_MAKERS come when rows were folded already, rows
 * are coarser than they had to be.
 */
#ifndef SHINY_PAGE_CUBE_H
#define SHINY_PAGE_CUBE_H

#include "cube_cells.h"
#include "profile.h"

struct cube_maker {
	uint32_t thread, tag; /* ids; 0 unknown, none */
};

struct page_cube {
	struct cube_cells lives, changes;
	struct hash_table maker_table;
	VEC(struct cube_maker) makers; /* [0] is none's; zeroed: empty */
	bool many_makers;   /* more than CUBE_MAKERS: fold them */
	bool makers_folded; /* no thread and no tag is told apart */
	const uint32_t *kept; /* by sample + 1: a number; [0]: what has no sample */
	const uint32_t *finest; /* what `kept` was at first */
	size_t most;            /* cells */
	void (*fold)(void *context); /* there are more, or too many makers: folds them; NULL: they
				      * may be */
	void *context;
	const struct profile *profile;
	uint64_t interval; /* ns; the profile's duration has at most CUBE_INTERVALS of them */
	unsigned folds; /* so far */
};

/* Adds up the session. */
SHINY_MUST_CHECK struct shiny_err *page_cube_load(struct store *store, const struct filter *filter,
						  bool progress, struct page_cube *cube);
size_t page_cube_cells(const struct page_cube *cube);
/* Adds up the cells anew after rows were folded: row i of them is row into[i] now. */
void page_cube_fold(struct page_cube *cube, const uint32_t *into);
/* Cells anew, all of maker 0. Once the session is added up, there is no other one. */
void page_cube_fold_makers(struct page_cube *cube);
/* In the order of samples, makers, intervals, bins, ends: the order of page_cells_put(). No cell is
 * added after that. */
void page_cube_sort(struct page_cube *cube);
void page_cube_deinit(struct page_cube *cube);

#endif
