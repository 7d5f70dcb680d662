/* SPDX-License-Identifier: Apache-2.0 */
#include "range_map.h"

#include <stdlib.h>

#include "../base/hash.h"
#include "../base/mem.h"

enum { FIRST_ROOM = 16 };

/* The range's cell, or the empty one where it would be. */
static struct range_cell *cell_of(const struct range_map *map, uint64_t key)
{
	size_t i = hash_mix(key) & (map->room - 1);

	while (map->cells[i].key && map->cells[i].key != key)
		i = (i + 1) & (map->room - 1);
	return &map->cells[i];
}

void *range_map_find_slow(struct range_map *map, uint64_t range)
{
	struct range_cell *cell = map->count ? cell_of(map, range + 1) : NULL;

	if (!cell || !cell->key)
		return NULL;
	map->last = *cell;
	return cell->value;
}

void range_map_put(struct range_map *map, uint64_t range, void *value)
{
	if ((map->count + 1) * 2 > map->room) {
		struct range_map larger = { .room = map->room ? map->room * 2 : FIRST_ROOM, .count = map->count };

		larger.cells = mem_zero(larger.room, sizeof *larger.cells);
		for (size_t i = 0; i < map->room; i++)
			if (map->cells[i].key)
				*cell_of(&larger, map->cells[i].key) = map->cells[i];
		free(map->cells);
		*map = larger;
	}
	map->count++;
	map->last = (struct range_cell){ range + 1, value };
	*cell_of(map, range + 1) = map->last;
}

void range_map_replace(struct range_map *map, uint64_t range, void *value)
{
	cell_of(map, range + 1)->value = value;
	map->last = (struct range_cell){ range + 1, value };
}

void range_map_deinit(struct range_map *map)
{
	for (size_t i = 0; i < map->room; i++)
		free(map->cells[i].value);
	free(map->cells);
	*map = (struct range_map){ 0 };
}
