/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cube_cells.h: a table of counts, by where in a page's cube they belong (page_cube.h).
 *
 * Runs: CLI. Signals: no. Allocates: 32 to 64 bytes a cell, half as much again while it grows.
 * Threads: one a table.
 *
 * The place of a cell is one number, so that a look-up compares one and waits for one cache line,
 * and a sorted table is one of ascending numbers. A table is a million cells of which any may be
 * next: who knows what comes says so, cube_cells_expect().
 */
#ifndef SHINY_CUBE_CELLS_H
#define SHINY_CUBE_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "../base/hash.h"

enum page_end { PAGE_FREED, PAGE_GONE, PAGE_LIVE };
enum { CUBE_MAKERS = 4096, CUBE_INTERVALS = 256 };

/*
 * Where the parts of a place begin, the least significant first. No bit-fields: put together from
 * bytes that were just written, a place stalls whoever reads it, for longer than hashing it takes.
 */
enum {
	CUBE_END_AT = 0,      /* lives: enum page_end */
	CUBE_BIN_AT = 2,      /* lives: 2^bin ns <= lifetime; bin 0 also holds 0 */
	CUBE_INTERVAL_AT = 8,
	CUBE_MAKER_AT = 16,   /* of the cube's; 0: no or any thread and tag */
	CUBE_SAMPLE_AT = 28,  /* kept */
	CUBE_USED_AT = 60     /* so that no place is 0 */
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
	struct cube_cell *at; /* by hash, of them `room`; once sorted: `count`, one behind the
			       * other */
	size_t room, count;
};

/* That the cell of this place will be asked for. */
static inline __attribute__((always_inline)) void cube_cells_expect(const struct cube_cells *cells,
								    uint64_t place)
{
	if (cells->room)
		__builtin_prefetch(&cells->at[hash_key(place) & (cells->room - 1)], 1);
}

/* Adds so many to the cell of the place. */
void cube_cells_add(struct cube_cells *cells, uint64_t place, int64_t blocks, int64_t bytes);
/* Adds them up anew: of sample i they are of sample into[i] now. */
void cube_cells_fold(struct cube_cells *cells, const uint32_t *into);
/* Likewise: all are of maker 0. */
void cube_cells_fold_makers(struct cube_cells *cells);
/* By their places. No cell is added after that. */
void cube_cells_sort(struct cube_cells *cells);
void cube_cells_deinit(struct cube_cells *cells);

#endif
