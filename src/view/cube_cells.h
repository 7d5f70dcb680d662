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

struct cube_cell {
	union {
		struct { /* the least significant first */
			uint64_t end : 2;      /* lives: enum page_end */
			uint64_t bin : 6;      /* lives: 2^bin ns <= lifetime; bin 0 also holds
						* 0 */
			uint64_t interval : 8;
			uint64_t maker : 12;   /* of the cube's; 0: no or any thread and tag */
			uint64_t sample : 32;  /* kept */
			uint64_t used : 1;     /* the table's */
		};
		uint64_t place; /* all of them; 0: the table has no cell here */
	};
	int64_t blocks, bytes;
};
_Static_assert(CUBE_MAKERS == 1 << 12 && CUBE_INTERVALS == 1 << 8, "they are numbered so far");

struct cube_cells { /* zeroed: empty */
	struct cube_cell *at; /* by hash, of them `room`; once sorted: `count`, one behind the
			       * other */
	size_t room, count;
};

/* That the cell of this place will be asked for. */
static inline __attribute__((always_inline)) void cube_cells_expect(const struct cube_cells *cells,
								    struct cube_cell key)
{
	key.used = 1;
	if (cells->room)
		__builtin_prefetch(&cells->at[hash_key(key.place) & (cells->room - 1)], 1);
}

/* Adds so many to the cell of the key's place. */
void cube_cells_add(struct cube_cells *cells, struct cube_cell key, int64_t blocks, int64_t bytes);
/* Adds them up anew: of sample i they are of sample into[i] now. */
void cube_cells_fold(struct cube_cells *cells, const uint32_t *into);
/* Likewise: all are of maker 0. */
void cube_cells_fold_makers(struct cube_cells *cells);
/* By their places. No cell is added after that. */
void cube_cells_sort(struct cube_cells *cells);
void cube_cells_deinit(struct cube_cells *cells);

#endif
