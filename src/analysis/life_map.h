/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life_map.h: the live blocks of processes, by their addresses: what lives.c spends its time in.
 *
 * Runs: CLI. Signals: no. Allocates: 64 bytes a live block and 11 to 21 for finding it. Threads: one a pool.
 *
 * The lives lie in a pool that all processes share, one cache line each; a place that became free is the next to be used, so that what comes
 * and goes fast stays in the cache. A process finds its own by an index of 8 bytes a cell: half of the address's hash, and the place. Looking
 * one up misses the cache twice when the block is an old one, so a reader that knows what will be asked for says so: life_map_expect() first,
 * for many, then life_map_prepare().
 *
 * Rejected: lives in the index itself (measured: growing and closing gaps moves 64 bytes a step, and a short life touches another line each time).
 */
#ifndef SHINY_LIFE_MAP_H
#define SHINY_LIFE_MAP_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/hash.h"
#include "../base/mem.h"

struct life {
	alignas(64) uint64_t address;
	uint64_t birth;       /* ns since the session's start; of inherited ones the parent's */
	uint64_t size;        /* requested, bytes */
	uint64_t number;      /* of its birth among those of its process, from 1 */
	uint32_t stack, vtable; /* ids; vtable as far as it is known yet */
	uint32_t thread;      /* id of the thread that allocated it */
	uint32_t tag;         /* id of what that thread was at; 0 none */
	uint32_t type, type_vtable; /* ask lives_type(); looked up when it was of this vtable */
	uint8_t api;          /* enum shiny_api */
	bool inherited;       /* came along in a fork */
	bool realloced;       /* began by a realloc */
	bool outside;         /* of what the scope is about: nobody is told of it, lives_each leaves it out */
};

enum { LIFE_CHUNK_BITS = 15, LIFE_CHUNK = 1 << LIFE_CHUNK_BITS }; /* lives that are MEM_HUGE bytes */

struct life_pool { /* zeroed: empty */
	VEC(struct life *) chunks;
	uint32_t used;  /* places so far; 0 is none's */
	uint32_t spare; /* list of free ones, through `number`; 0 ends it */
};

struct life_cell {
	uint32_t hash, place; /* place 0: the cell is empty */
};
struct life_map { /* zeroed but for the pool: empty */
	struct life_pool *pool;
	struct life_cell *cells; /* open addressing, at most three quarters full */
	size_t room, count;      /* room: a power of two, or 0 */
	unsigned shift;          /* room = 2^(32 - shift) */
};

static inline struct life *life_at(const struct life_pool *pool, uint32_t place)
{
	return &pool->chunks.at[place >> LIFE_CHUNK_BITS][place & (LIFE_CHUNK - 1)];
}

/* D. Knuth's multiplicative hashing: the high bits are the best, and decide where a block's cell is. */
static inline uint32_t life_hash(uint64_t address)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static inline void life_map_expect(const struct life_map *map, uint32_t hash)
{
	if (map->room)
		__builtin_prefetch(&map->cells[hash >> map->shift], 1);
}

static inline void life_map_prepare(const struct life_map *map, uint32_t hash)
{
	if (!map->room)
		return;
	for (size_t i = hash >> map->shift; map->cells[i].place; i = (i + 1) & (map->room - 1))
		if (map->cells[i].hash == hash) {
			__builtin_prefetch(life_at(map->pool, map->cells[i].place), 1);
			return;
		}
}

/* Its cell, or the empty one where it would be, good until the next change. The map has room. */
static inline struct life_cell *life_map_cell(const struct life_map *map, uint64_t address, uint32_t hash)
{
	size_t i = hash >> map->shift;

	while (map->cells[i].place && (map->cells[i].hash != hash || life_at(map->pool, map->cells[i].place)->address != address))
		i = (i + 1) & (map->room - 1);
	return &map->cells[i];
}

/* NULL: there is none. */
static inline struct life_cell *life_map_find(const struct life_map *map, uint64_t address, uint32_t hash)
{
	struct life_cell *cell = map->count ? life_map_cell(map, address, hash) : NULL;

	return cell && cell->place ? cell : NULL;
}

/* Room for so many more. */
void life_map_reserve(struct life_map *map, size_t more);
static inline void life_map_reserve_one(struct life_map *map)
{
	if ((map->count + 1) * 4 > map->room * 3)
		life_map_reserve(map, 1);
}

/* What is at `place` is the life of an address that has this empty cell. */
static inline void life_map_fill(struct life_map *map, struct life_cell *cell, uint32_t hash, uint32_t place)
{
	*cell = (struct life_cell){ hash, place };
	map->count++;
}

/* A place for a life, filled with anything. */
uint32_t life_pool_more(struct life_pool *pool);
static inline uint32_t life_pool_take(struct life_pool *pool)
{
	uint32_t place = pool->spare;

	if (!place)
		return life_pool_more(pool);
	pool->spare = (uint32_t)life_at(pool, place)->number;
	return place;
}

/* Empties the cell; the life stays where it was until life_pool_give. */
static inline uint32_t life_map_take(struct life_map *map, struct life_cell *cell)
{
	uint32_t place = cell->place;

	hash_take_out(map->cells, map->room - 1, cell, place, other, (size_t)(other->hash >> map->shift));
	map->count--;
	return place;
}

static inline void life_pool_give(struct life_pool *pool, uint32_t place)
{
	life_at(pool, place)->number = pool->spare;
	pool->spare = place;
}

/* The lives one after the other, in no order; `life` NULL: the first. NULL: there are no more. */
const struct life *life_map_next(const struct life_map *map, const struct life *life);

void life_map_deinit(struct life_map *map);
void life_pool_deinit(struct life_pool *pool);

#endif
