/* SPDX-License-Identifier: Apache-2.0 */
#include "place_map.h"

#include <stdlib.h>

#include "../../base/hash.h"
#include "../../base/mem.h"

enum { FIRST_ROOM = 1024 };

static size_t home_of(const struct place_map *map, uint32_t process, uint64_t address)
{
	return hash_mix(address ^ (uint64_t)process << 48) & (map->room - 1);
}

/* The block's cell, or the empty one where it would be. */
static struct pool_place *cell_of(const struct place_map *map, uint32_t process, uint64_t address)
{
	size_t i = home_of(map, process, address);

	while (map->cells[i].address &&
	       (map->cells[i].address != address || map->cells[i].process != process))
		i = (i + 1) & (map->room - 1);
	return &map->cells[i];
}

struct pool_place *place_map_find(const struct place_map *map, uint32_t process, uint64_t address)
{
	struct pool_place *cell = map->count ? cell_of(map, process, address) : NULL;

	return cell && cell->address ? cell : NULL;
}

void place_map_add(struct place_map *map, const struct pool_place *place)
{
	if ((map->count + 1) * 4 > map->room * 3) {
		struct place_map larger = { .room = map->room ? 2 * map->room : FIRST_ROOM,
					    .count = map->count };

		larger.cells = mem_zero(larger.room, sizeof(*larger.cells));
		for (size_t i = 0; i < map->room; i++)
			if (map->cells[i].address)
				*cell_of(&larger, map->cells[i].process, map->cells[i].address) = map->cells[i];
		free(map->cells);
		*map = larger;
	}
	map->count++;
	*cell_of(map, place->process, place->address) = *place;
}

void place_map_remove(struct place_map *map, struct pool_place *place)
{
	hash_take_out(map->cells, map->room - 1, place, address, other,
		      home_of(map, other->process, other->address));
	map->count--;
}

void place_map_deinit(struct place_map *map)
{
	free(map->cells);
	*map = (struct place_map){ 0 };
}
