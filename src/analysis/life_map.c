/* SPDX-License-Identifier: Apache-2.0 */
/* life_map.c: see life_map.h. */
#include "life_map.h"

#include <stdlib.h>

enum { FIRST_BITS = 8, WALK_AHEAD = 8 };

_Static_assert(sizeof(struct life) == 64, "a life is a cache line");
_Static_assert(sizeof(struct life) << LIFE_CHUNK_BITS == MEM_HUGE, "a chunk is a huge page");

void life_map_reserve(struct life_map *map, size_t more)
{
	struct life_map larger = *map;

	if (!larger.room) {
		larger.room = (size_t)1 << FIRST_BITS;
		larger.shift = 32 - FIRST_BITS;
	}
	for (; (map->count + more) * 4 > larger.room * 3; larger.room *= 2)
		larger.shift--;
	if (larger.room == map->room)
		return;
	larger.cells = mem_pages(larger.room * sizeof *larger.cells);
	for (size_t i = 0; i < map->room; i++) {
		size_t to = map->cells[i].hash >> larger.shift;

		if (!map->cells[i].place)
			continue;
		while (larger.cells[to].place)
			to = (to + 1) & (larger.room - 1);
		larger.cells[to] = map->cells[i];
	}
	mem_pages_free(map->cells, map->room * sizeof *map->cells);
	*map = larger;
}

uint32_t life_pool_more(struct life_pool *pool)
{
	uint32_t place = ++pool->used;

	if (place >> LIFE_CHUNK_BITS >= pool->chunks.count)
		*vec_push(&pool->chunks) = mem_pages(LIFE_CHUNK * sizeof(struct life));
	return place;
}

const struct life *life_map_next(const struct life_map *map, const struct life *life)
{
	size_t i = life ? (size_t)(life_map_find(map, life->address, life_hash(life->address)) - map->cells) + 1 : 0;

	for (; i < map->room; i++) {
		if (i + WALK_AHEAD < map->room && map->cells[i + WALK_AHEAD].place)
			__builtin_prefetch(life_at(map->pool, map->cells[i + WALK_AHEAD].place));
		if (map->cells[i].place)
			return life_at(map->pool, map->cells[i].place);
	}
	return NULL;
}

void life_map_deinit(struct life_map *map)
{
	mem_pages_free(map->cells, map->room * sizeof *map->cells);
	*map = (struct life_map){ 0 };
}

void life_pool_deinit(struct life_pool *pool)
{
	for (size_t i = 0; i < pool->chunks.count; i++)
		mem_pages_free(pool->chunks.at[i], LIFE_CHUNK * sizeof(struct life));
	free(pool->chunks.at);
	*pool = (struct life_pool){ 0 };
}
