/* SPDX-License-Identifier: Apache-2.0 */
#include "range_map.h"

#include <stdlib.h>

#include "../../base/hash.h"
#include "../../base/mem.h"

enum { FIRST_ROOM = 16 };

/*
 * Honest sessions: 34 MB for Chromium's of 51 MB. Half a gigabyte is the pages of a heap of 500 GB,
 * or one end each of half a million blocks that lie 64 KiB apart.
 */
enum {
	BYTES_AT_LEAST = 512 << 20,
	BYTES_A_BYTE = 64,
	RANGES_AT_LEAST = 1 << 29,
	RANGES_A_BYTE = 64
};

static struct { uint64_t bytes, ranges; bool spent; } account;

void range_maps_begin(const struct store *store)
{
	account.bytes = store_bound(store, BYTES_AT_LEAST, BYTES_A_BYTE);
	account.ranges = store_bound(store, RANGES_AT_LEAST, RANGES_A_BYTE);
	account.spent = false;
}

bool range_map_afford(struct range_map *map, uint64_t ranges, uint64_t bytes)
{
	account.spent |= ranges > account.ranges || bytes > account.bytes;
	if (account.spent)
		return false;
	account.ranges -= ranges;
	account.bytes -= bytes;
	map->bytes += bytes;
	return true;
}

struct shiny_err *range_maps_end(const struct store *store)
{
	return account.spent ? store_too_much(store) : NULL;
}

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
		struct range_map larger = { .room = map->room ? map->room * 2 : FIRST_ROOM,
					    .count = map->count,
					    .bytes = map->bytes };

		larger.cells = mem_zero(larger.room, sizeof(*larger.cells));
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
	account.bytes += map->bytes;
	*map = (struct range_map){ 0 };
}
