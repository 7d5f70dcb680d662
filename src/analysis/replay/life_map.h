/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life_map.h: the live blocks of processes, by address, where replay.c spends its time.
 *
 * Runs: CLI. Signals: no. Allocates: 64 bytes a live block and 13 to 26 for finding it. Threads:
 * one a pool.
 *
 * The lives lie in a pool that all processes share, one cache line each; a freed place is used
 * next, so that short lives stay in the cache. Each process has an index: the address's hash
 * selects a bucket, a cache line of seven entries of hash and place, which are compared at once.
 * Looking up an old block misses the cache twice, so a reader that knows the next addresses
 * prefetches: life_map_expect() first, for many, then life_map_prepare().
 *
 * A full bucket passes new entries on to the next one, and counts them; a search ends at the first
 * bucket that has passed nothing on. So F14 (N. Bronson and X. Shi, "Open-sourcing F14", 2019)
 * needs no marks for removed entries, and moves none.
 *
 * Rejected: lives in the index itself (measured: growing and closing gaps moves 64 bytes a step,
 * and a short life touches another line each time); cells of 8 bytes with linear probing, and gaps
 * closed after removals: a processor cannot predict the length of a search.
 */
#ifndef SHINY_LIFE_MAP_H
#define SHINY_LIFE_MAP_H

#include <emmintrin.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/mem.h"

struct life {
	alignas(64) uint64_t address;
	uint64_t birth;       /* ns since the session's start; of an inherited block its parent's */
	uint64_t size;        /* requested, bytes */
	uint64_t number;      /* number of its birth in its process, from 1 */
	uint32_t stack, vtable; /* ids; vtable as known so far */
	uint32_t thread;      /* id of the thread that allocated it */
	uint32_t tag;         /* tag of that thread at the time; 0: none */
	uint32_t type, type_vtable; /* use replay_type(); type is that of type_vtable */
	uint8_t api;          /* enum shiny_api */
	bool inherited;       /* copied by a fork */
	bool realloced;       /* began by a realloc */
	bool outside : 1; /* not in the filter: observers and replay_each skip it */
	uint8_t level : 7; /* of its sample (the wire's sample_weight.h) */
	uint32_t place; /* in the pool, from 1; unique among the session's live blocks */
};

/* a chunk of lives has MEM_HUGE bytes */
enum { LIFE_CHUNK_BITS = 15, LIFE_CHUNK = 1 << LIFE_CHUNK_BITS };

struct life_pool { /* zeroed: empty */
	VEC(struct life *) chunks;
	uint32_t used;  /* places so far; place 0 is never given */
	uint32_t spare; /* first free place, linked through `number`; 0: none */
};

/* At a mean of 5 a bucket one of seven overflows (Poisson), at 2.5, after growing, one of 235. */
enum { LIFE_LANES = 7, LIFE_LANES_ALL = (1 << LIFE_LANES) - 1, LIFE_LOAD = 5 };
struct life_bucket {
	alignas(64) uint32_t hashes[LIFE_LANES];
	uint32_t passed; /* entries of this or an earlier bucket that went on to a later one */
	uint32_t places[LIFE_LANES];
	uint32_t used;   /* a bit for each lane */
};
struct life_map { /* zeroed but for the pool: empty */
	struct life_pool *pool;
	struct life_bucket *buckets; /* at most LIFE_LOAD of seven lanes used on average */
	size_t room, count;          /* room: number of buckets, a power of two, or 0 */
	unsigned shift;              /* room = 2^(32 - shift) */
};

static inline struct life *life_at(const struct life_pool *pool, uint32_t place)
{
	return &pool->chunks.at[place >> LIFE_CHUNK_BITS][place & (LIFE_CHUNK - 1)];
}

/* D. Knuth's multiplicative hashing: the high bits are the best, and select the bucket. */
static inline uint32_t life_hash(uint64_t address)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Returns a bit for each lane with this hash. */
static inline unsigned life_bucket_lanes(const struct life_bucket *bucket, uint32_t hash)
{
	__m128i key = _mm_set1_epi32((int)hash);
	int low = _mm_movemask_ps(
		_mm_castsi128_ps(_mm_cmpeq_epi32(key, _mm_load_si128((const __m128i *)bucket))));
	int high = _mm_movemask_ps(_mm_castsi128_ps(
		_mm_cmpeq_epi32(key, _mm_load_si128((const __m128i *)bucket + 1))));

	return (unsigned)(low | high << 4) & bucket->used;
}

static inline __attribute__((always_inline)) void life_map_expect(const struct life_map *map,
								  uint32_t hash)
{
	if (map->room)
		__builtin_prefetch(&map->buckets[hash >> map->shift], 1);
}

/* Returns the place of the life that probably has this hash; 0, a place that no life has and that
 * is cached: none. The map must not be empty. */
static inline __attribute__((always_inline)) uint32_t life_map_guess(const struct life_map *map,
								     uint32_t hash)
{
	const struct life_bucket *bucket = &map->buckets[hash >> map->shift];
	unsigned lanes = life_bucket_lanes(bucket, hash);
	/* any lane if there is none */
	uint32_t place = bucket->places[__builtin_ctz(lanes | 1u << (LIFE_LANES - 1))];

	return place & -(uint32_t)(lanes != 0);
}

static inline __attribute__((always_inline)) void life_map_prepare(const struct life_map *map,
								   uint32_t hash)
{
	if (map->count)
		__builtin_prefetch(life_at(map->pool, life_map_guess(map, hash)), 1);
}

/* The entry of an address; bucket NULL: none. Valid until the next change. */
struct life_slot {
	struct life_bucket *bucket;
	unsigned lane;
};
static inline __attribute__((always_inline)) struct life_slot life_map_slot(
	const struct life_map *map, uint64_t address, uint32_t hash)
{
	size_t home = hash >> map->shift, at = home;

	if (!map->room)
		return (struct life_slot){ NULL, 0 };
	do {
		struct life_bucket *bucket = &map->buckets[at];

		for (unsigned lanes = life_bucket_lanes(bucket, hash); lanes; lanes &= lanes - 1) {
			unsigned lane = (unsigned)__builtin_ctz(lanes);

			if (life_at(map->pool, bucket->places[lane])->address == address)
				return (struct life_slot){ bucket, lane };
		}
		if (!bucket->passed)
			break;
		at = (at + 1) & (map->room - 1);
	} while (at != home);
	return (struct life_slot){ NULL, 0 };
}

/* Returns the address's place; 0: none. */
static inline uint32_t life_map_find(const struct life_map *map, uint64_t address, uint32_t hash)
{
	struct life_slot slot = life_map_slot(map, address, hash);

	return slot.bucket ? slot.bucket->places[slot.lane] : 0;
}

/* Makes room for `more` lives. */
void life_map_reserve(struct life_map *map, size_t more);

/* Adds the life at `place`, whose address has no entry. */
static inline void life_map_put(struct life_map *map, uint32_t hash, uint32_t place)
{
	struct life_bucket *bucket;
	unsigned lane;
	size_t at;

	if (map->count >= map->room * LIFE_LOAD)
		life_map_reserve(map, 1);
	at = hash >> map->shift;
	for (bucket = &map->buckets[at]; bucket->used == LIFE_LANES_ALL;
	     bucket = &map->buckets[at]) {
		bucket->passed++;
		at = (at + 1) & (map->room - 1);
	}
	lane = (unsigned)__builtin_ctz(~bucket->used);
	bucket->hashes[lane] = hash;
	bucket->places[lane] = place;
	bucket->used |= 1u << lane;
	map->count++;
}

/* Removes the entry of an address, and returns the life's place, which stays taken until
 * life_pool_give(); 0: none. */
static inline __attribute__((always_inline)) uint32_t life_map_take(struct life_map *map,
								    uint64_t address, uint32_t hash)
{
	struct life_slot slot = life_map_slot(map, address, hash);

	if (!slot.bucket)
		return 0;
	for (size_t at = hash >> map->shift; &map->buckets[at] != slot.bucket;
	     at = (at + 1) & (map->room - 1))
		map->buckets[at].passed--;
	slot.bucket->used &= ~(1u << slot.lane);
	map->count--;
	return slot.bucket->places[slot.lane];
}

/* Takes a place for a life, with undefined content. */
uint32_t life_pool_more(struct life_pool *pool);
static inline uint32_t life_pool_take(struct life_pool *pool)
{
	uint32_t place = pool->spare;

	if (!place)
		return life_pool_more(pool);
	pool->spare = (uint32_t)life_at(pool, place)->number;
	return place;
}

static inline void life_pool_give(struct life_pool *pool, uint32_t place)
{
	life_at(pool, place)->number = pool->spare;
	pool->spare = place;
}

/* Returns the next life, in no order; `life` NULL: the first. NULL: no more. */
const struct life *life_map_next(const struct life_map *map, const struct life *life);

void life_map_deinit(struct life_map *map);
void life_pool_deinit(struct life_pool *pool);

#endif
