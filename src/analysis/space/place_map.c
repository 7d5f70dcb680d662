/* SPDX-License-Identifier: Apache-2.0 */
/* place_map.c: see place_map.h. */
#include "place_map.h"

#include <stdlib.h>

#include "../../base/hash.h"

static uint64_t place_hash(uint32_t process, uint64_t address)
{
	return hash_key(address ^ (uint64_t)process << 48);
}

struct pool_place *place_map_find(const struct place_map *map, uint32_t process, uint64_t address)
{
	uint32_t at = hash_table_find(&map->index, place_hash(process, address), i,
				      map->places.at[i].address == address &&
					      map->places.at[i].process == process);

	return at == HASH_NONE ? NULL : &map->places.at[at];
}

void place_map_add(struct place_map *map, const struct pool_place *place)
{
	hash_table_add(&map->index, place_hash(place->process, place->address),
		       (uint32_t)map->places.count);
	*vec_push(&map->places) = *place;
}

void place_map_remove(struct place_map *map, struct pool_place *place)
{
	uint32_t at = (uint32_t)(place - map->places.at), last = (uint32_t)map->places.count - 1;
	const struct pool_place *filler = &map->places.at[last];

	hash_table_remove(&map->index, place_hash(place->process, place->address), at);
	if (at != last) {
		hash_table_move(&map->index, place_hash(filler->process, filler->address), last,
				at);
		*place = *filler;
	}
	map->places.count--;
}

void place_map_deinit(struct place_map *map)
{
	free(map->places.at);
	hash_table_deinit(&map->index);
	*map = (struct place_map){ 0 };
}
