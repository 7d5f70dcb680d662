/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cube_cells.h: a table of block and byte counts, by place in a page's cube (page_cube.h).
 *
 * Runs: CLI. Signals: no. Allocates: 32 to 64 bytes a cell, half as much again while it grows.
 * Threads: one a table.
 *
 * The place of a cell is one number, so that a look-up compares one number in one cache line, and a
 * sorted table ascends. A table has a million cells, and any may be next: a caller that knows the
 * next one prefetches it, cube_cells_expect().
 */
#ifndef SHINY_CUBE_CELLS_H
#define SHINY_CUBE_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "../base/hash.h"

enum page_end { PAGE_FREED, PAGE_GONE, PAGE_LIVE };
enum { CUBE_MAKERS = 4096, CUBE_INTERVALS = 256 };

/* The lowest bit of each part of a place. Bit-fields would be slower: a place written as single
 * bytes and read as a word stalls the reader for longer than its hash takes. */
enum {
	CUBE_END_AT = 0,      /* lives: enum page_end */
	CUBE_BIN_AT = 2,      /* lives: 2^bin ns <= lifetime; bin 0 also holds 0 */
	CUBE_INTERVAL_AT = 8,
	CUBE_MAKER_AT = 16,   /* maker of the cube; 0: none, or any thread and tag */
	CUBE_SAMPLE_AT = 28,  /* as in page_cube's `kept` */
	CUBE_USED_AT = 60     /* a set bit, so that no place is 0 */
};
_Static_assert(CUBE_MAKERS == 1 << (CUBE_SAMPLE_AT - CUBE_MAKER_AT) &&
		       CUBE_INTERVALS == 1 << (CUBE_MAKER_AT - CUBE_INTERVAL_AT),
	       "they are numbered so far");

struct cube_cell {
	uint64_t place; /* 0: the table has no cell here */
	int64_t blocks, bytes;
};

static inline uint64_t cube_place(uint32_t sample, int maker, int interval)
{
	return UINT64_C(1) << CUBE_USED_AT | (uint64_t)sample << CUBE_SAMPLE_AT |
	       (uint64_t)maker << CUBE_MAKER_AT | (uint64_t)interval << CUBE_INTERVAL_AT;
}

static inline uint64_t cube_place_of_life(uint64_t place, int bin, int end)
{
	return place | (uint64_t)bin << CUBE_BIN_AT | (uint64_t)end << CUBE_END_AT;
}

static inline uint32_t cube_cell_sample(const struct cube_cell *cell)
{
	return (uint32_t)(cell->place >> CUBE_SAMPLE_AT);
}

static inline int cube_cell_maker(const struct cube_cell *cell)
{
	return (int)(cell->place >> CUBE_MAKER_AT & (CUBE_MAKERS - 1));
}

static inline int cube_cell_interval(const struct cube_cell *cell)
{
	return (int)(cell->place >> CUBE_INTERVAL_AT & (CUBE_INTERVALS - 1));
}

static inline int cube_cell_bin(const struct cube_cell *cell)
{
	return (int)(cell->place >> CUBE_BIN_AT & ((1 << (CUBE_INTERVAL_AT - CUBE_BIN_AT)) - 1));
}

static inline int cube_cell_end(const struct cube_cell *cell)
{
	return (int)(cell->place >> CUBE_END_AT & ((1 << (CUBE_BIN_AT - CUBE_END_AT)) - 1));
}

struct cube_cells { /* zeroed: empty */
	struct cube_cell *at; /* `room` cells by hash; once sorted, `count` consecutive ones */
	size_t room, count;
};

/* Prefetches the cell of this place. */
static inline __attribute__((always_inline)) void cube_cells_expect(const struct cube_cells *cells,
								    uint64_t place)
{
	if (cells->room)
		__builtin_prefetch(&cells->at[hash_key(place) & (cells->room - 1)], 1);
}

/* Adds blocks and bytes to the cell of the place. */
void cube_cells_add(struct cube_cells *cells, uint64_t place, int64_t blocks, int64_t bytes);
/* Moves the counts of each sample i to sample into[i]. */
void cube_cells_fold(struct cube_cells *cells, const uint32_t *into);
/* Moves all counts to maker 0. */
void cube_cells_fold_makers(struct cube_cells *cells);
/* Sorts the cells by place. No cell can be added after that. */
void cube_cells_sort(struct cube_cells *cells);
void cube_cells_deinit(struct cube_cells *cells);

#endif
