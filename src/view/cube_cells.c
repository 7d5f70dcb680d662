/* SPDX-License-Identifier: Apache-2.0 */
/* cube_cells.c: see cube_cells.h. The table has open addressing with linear probing, and is at
 * most three quarters full. */
#include "cube_cells.h"

#include <stdlib.h>

#include "../base/mem.h"
#include "../base/row_order.h"

enum { FIRST_ROOM = 1024 };

/* Returns the cell of the place, or the empty cell where it would be. */
static struct cube_cell *cell_of(const struct cube_cells *cells, uint64_t place)
{
	size_t i = hash_key(place) & (cells->room - 1);

	while (cells->at[i].place && cells->at[i].place != place)
		i = (i + 1) & (cells->room - 1);
	return &cells->at[i];
}

static __attribute__((noinline, cold)) void grow(struct cube_cells *cells)
{
	struct cube_cells larger = { .room = cells->room ? 2 * cells->room : FIRST_ROOM,
				     .count = cells->count };

	larger.at = mem_pages(larger.room * sizeof(*larger.at));
	for (size_t i = 0; i < cells->room; i++)
		if (cells->at[i].place)
			*cell_of(&larger, cells->at[i].place) = cells->at[i];
	cube_cells_deinit(cells);
	*cells = larger;
}

void cube_cells_add(struct cube_cells *cells, uint64_t place, int64_t blocks, int64_t bytes)
{
	struct cube_cell *cell;

	if (cells->count * 4 >= cells->room * 3)
		grow(cells);
	cell = cell_of(cells, place);
	cells->count += !cell->place;
	cell->place = place;
	cell->blocks += blocks;
	cell->bytes += bytes;
}

/* Returns the place of a cell after folding: in sample into[sample], or, if `into` is NULL, in the
 * same sample, of maker 0. */
static uint64_t place_in(const struct cube_cell *cell, const uint32_t *into)
{
	uint32_t sample = cube_cell_sample(cell);
	uint64_t place = cube_place(into ? into[sample] : sample, into ? cube_cell_maker(cell) : 0,
				    cube_cell_interval(cell));

	return cube_place_of_life(place, cube_cell_bin(cell), cube_cell_end(cell));
}

enum { AHEAD = 16 };

static void add_up(struct cube_cells *cells, const uint32_t *into)
{
	struct cube_cells folded = { .room = cells->room };

	if (!cells->room)
		return;
	folded.at = mem_pages(folded.room * sizeof(*folded.at));
	for (size_t i = 0; i < cells->room; i++) {
		const struct cube_cell *cell = &cells->at[i], *later = cell + AHEAD;

		if (i + AHEAD < cells->room && later->place)
			cube_cells_expect(&folded, place_in(later, into));
		if (cell->place)
			cube_cells_add(&folded, place_in(cell, into), cell->blocks, cell->bytes);
	}
	cube_cells_deinit(cells);
	*cells = folded;
}

void cube_cells_fold(struct cube_cells *cells, const uint32_t *into)
{
	add_up(cells, into);
}

void cube_cells_fold_makers(struct cube_cells *cells)
{
	add_up(cells, NULL);
}

ORDER_BY(by_place, struct cube_cell, ORDER_UP(place))

void cube_cells_sort(struct cube_cells *cells)
{
	size_t kept = 0;

	for (size_t i = 0; i < cells->room; i++)
		if (cells->at[i].place)
			cells->at[kept++] = cells->at[i];
	if (kept)
		qsort(cells->at, kept, sizeof(*cells->at), by_place);
}

void cube_cells_deinit(struct cube_cells *cells)
{
	mem_pages_free(cells->at, cells->room * sizeof(*cells->at));
	*cells = (struct cube_cells){ 0 };
}
