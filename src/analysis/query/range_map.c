/* SPDX-License-Identifier: Apache-2.0 */
#include "range_map.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "../../base/hash.h"

/*
 * Regular sessions need 34 MB for Chromium's of 51 MB. Half a gigabyte has the pages of a heap of
 * 500 GB, or one end each of half a million blocks that lie 64 KiB apart.
 */
enum {
	BYTES_AT_LEAST = 512 << 20,
	BYTES_A_BYTE = 64,
	RANGES_AT_LEAST = 1 << 29,
	RANGES_A_BYTE = 64
};

/* Another thread counts pages (change_queue.h). Relaxed: only the sums matter. */
static struct {
	_Atomic uint64_t bytes, ranges;
	unsigned users;
	_Atomic bool spent;
} account;

/* Takes `amount` from the account; false: too little is left. */
static bool spend(_Atomic uint64_t *left, uint64_t amount)
{
	uint64_t had = atomic_load_explicit(left, memory_order_relaxed);

	while (amount && had >= amount)
		if (atomic_compare_exchange_weak_explicit(left, &had, had - amount,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return true;
	return !amount;
}

void range_maps_begin(const struct store *store)
{
	if (!account.users++) {
		account.bytes = account.ranges = 0;
		account.spent = false;
	}
	account.bytes += store_bound(store, BYTES_AT_LEAST, BYTES_A_BYTE);
	account.ranges += store_bound(store, RANGES_AT_LEAST, RANGES_A_BYTE);
}

bool range_map_afford(struct range_map *map, uint64_t ranges, uint64_t bytes)
{
	if (range_maps_spent())
		return false;
	if (!spend(&account.ranges, ranges) || !spend(&account.bytes, bytes)) {
		atomic_store_explicit(&account.spent, true, memory_order_relaxed);
		return false;
	}
	map->bytes += bytes;
	return true;
}

bool range_maps_spent(void)
{
	return atomic_load_explicit(&account.spent, memory_order_relaxed);
}

struct shiny_err *range_maps_end(const struct store *store)
{
	account.users--;
	return account.spent ? store_too_much(store) : NULL;
}

/* Returns the range's index of `ranges`, or HASH_NONE. */
static uint32_t find_range(const struct range_map *map, uint64_t range)
{
	return hash_table_find(&map->index, hash_key(range), i, map->ranges.at[i].number == range);
}

void *range_map_find_slow(struct range_map *map, uint64_t range)
{
	uint32_t at = find_range(map, range);

	if (at == HASH_NONE)
		return NULL;
	map->recent[range % RANGE_MAP_RECENT] = map->ranges.at[at];
	return map->ranges.at[at].value;
}

void range_map_put(struct range_map *map, uint64_t range, void *value)
{
	struct range_entry *recent = &map->recent[range % RANGE_MAP_RECENT];

	*recent = (struct range_entry){ range, value };
	hash_table_add(&map->index, hash_key(range), (uint32_t)map->ranges.count);
	*vec_push(&map->ranges) = *recent;
}

void range_map_replace(struct range_map *map, uint64_t range, void *value)
{
	map->recent[range % RANGE_MAP_RECENT] = (struct range_entry){ range, value };
	map->ranges.at[find_range(map, range)].value = value;
}

void range_map_deinit(struct range_map *map)
{
	for (size_t i = 0; i < map->ranges.count; i++)
		free(map->ranges.at[i].value);
	free(map->ranges.at);
	hash_table_deinit(&map->index);
	account.bytes += map->bytes;
	*map = (struct range_map){ 0 };
}
