/* SPDX-License-Identifier: Apache-2.0 */
/* life_map.c: see life_map.h. */
#include "life_map.h"

#include <stdlib.h>

enum { FIRST_BITS = 6, WALK_AHEAD = 2 };

_Static_assert(sizeof(struct life) == 64, "a life is a cache line");
_Static_assert(sizeof(struct life) << LIFE_CHUNK_BITS == MEM_HUGE, "a chunk is a huge page");
_Static_assert(sizeof(struct life_bucket) == 64, "a bucket is a cache line");
_Static_assert(offsetof(struct life_bucket, passed) == LIFE_LANES * sizeof(uint32_t),
	       "the hashes are compared four and four");

void life_map_reserve(struct life_map *map, size_t more)
{
	struct life_map larger = { .pool = map->pool, .room = map->room, .shift = map->shift };

	if (!larger.room) {
		larger.room = (size_t)1 << FIRST_BITS;
		larger.shift = 32 - FIRST_BITS;
	}
	for (; map->count + more > larger.room * LIFE_LOAD; larger.room *= 2)
		larger.shift--;
	if (larger.room == map->room)
		return;
	larger.buckets = mem_pages(larger.room * sizeof(*larger.buckets));
	for (size_t i = 0; i < map->room; i++) {
		const struct life_bucket *bucket = &map->buckets[i];

		for (unsigned lanes = bucket->used; lanes; lanes &= lanes - 1)
			life_map_put(&larger, bucket->hashes[__builtin_ctz(lanes)],
				     bucket->places[__builtin_ctz(lanes)]);
	}
	mem_pages_free(map->buckets, map->room * sizeof(*map->buckets));
	*map = larger;
}

uint32_t life_pool_more(struct life_pool *pool)
{
	uint32_t place = ++pool->used;

	if (place >> LIFE_CHUNK_BITS >= pool->chunks.count)
		*vec_push(&pool->chunks) = mem_pages(LIFE_CHUNK * sizeof(struct life));
	return place;
}

static void expect_lives(const struct life_map *map, const struct life_bucket *bucket)
{
	for (unsigned lanes = bucket->used; lanes; lanes &= lanes - 1)
		__builtin_prefetch(life_at(map->pool, bucket->places[__builtin_ctz(lanes)]));
}

const struct life *life_map_next(const struct life_map *map, const struct life *life)
{
	struct life_slot slot = { map->buckets, 0 };
	unsigned behind = LIFE_LANES_ALL;

	if (life) {
		slot = life_map_slot(map, life->address, life_hash(life->address));
		behind = LIFE_LANES_ALL & ~((2u << slot.lane) - 1);
	}
	for (size_t i = slot.bucket ? (size_t)(slot.bucket - map->buckets) : map->room;
	     i < map->room; i++, behind = LIFE_LANES_ALL) {
		unsigned lanes = map->buckets[i].used & behind;

		if (behind == LIFE_LANES_ALL && i + WALK_AHEAD < map->room)
			expect_lives(map, &map->buckets[i + WALK_AHEAD]);
		if (lanes)
			return life_at(map->pool, map->buckets[i].places[__builtin_ctz(lanes)]);
	}
	return NULL;
}

void life_map_deinit(struct life_map *map)
{
	mem_pages_free(map->buckets, map->room * sizeof(*map->buckets));
	*map = (struct life_map){ 0 };
}

void life_pool_deinit(struct life_pool *pool)
{
	for (size_t i = 0; i < pool->chunks.count; i++)
		mem_pages_free(pool->chunks.at[i], LIFE_CHUNK * sizeof(struct life));
	free(pool->chunks.at);
	*pool = (struct life_pool){ 0 };
}
