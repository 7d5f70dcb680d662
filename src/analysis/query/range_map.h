/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_map.h: a map from aligned ranges of 2 MiB of an address space to values.
 *
 * Runs: CLI. Signals: no. Allocates: 27 to 54 bytes a range (mem.h), and 2 KiB a map; the caller
 * owns the values. Threads: one a map; all threads share the account.
 *
 * A few bytes of a session file can say that a block lies on a million ranges, or a million blocks
 * on a range each. So all maps share an account. An analysis opens it, asks it before it fills a
 * map, and stops when it is spent; its result is then an error.
 */
#ifndef SHINY_RANGE_MAP_H
#define SHINY_RANGE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/hash_table.h"
#include "../../base/mem.h"
#include "../../store/store.h"

enum {
	PAGE_SHIFT = 12,
	PAGE_BYTES = 1 << PAGE_SHIFT,
	LINE_SHIFT = 6,
	LINE_BYTES = 1 << LINE_SHIFT,
	PAGE_LINES = PAGE_BYTES / LINE_BYTES
};
enum { RANGE_SHIFT = 21, RANGE_BYTES = 1 << RANGE_SHIFT, RANGE_PAGES = RANGE_BYTES / PAGE_BYTES };

/* Bytes of a range besides its value: entry and cells, also while they are copied, and the
 * allocator's. */
enum { RANGE_MAP_BYTES = 80 };

struct range_entry {
	uint64_t number; /* address / 2 MiB */
	void *value;	 /* not NULL */
};
/* Recent ranges help as threads' heaps lie far apart, and their events alternate. */
enum { RANGE_MAP_RECENT = 128 };
struct range_map { /* zeroed: empty */
	VEC(struct range_entry) ranges; /* in the order of range_map_put() */
	struct hash_table index;	/* index of `ranges` */
	uint64_t bytes;			/* taken from the account */
	/* last ranges found, by the number's low bits: most events lie near each other */
	struct range_entry recent[RANGE_MAP_RECENT];
};

/* Opens the account for a session of this store. Analyses that share a pass (replay_together.h)
 * share one account with the sum of their limits. */
void range_maps_begin(const struct store *store);
/* Takes this many ranges and bytes from the account, for this map; false: it is spent, for all
 * later calls too. */
bool range_map_afford(struct range_map *map, uint64_t ranges, uint64_t bytes);
bool range_maps_spent(void);
/* Closes the account, once for each range_maps_begin(). Returns an error if it was spent. */
SHINY_MUST_CHECK struct shiny_err *range_maps_end(const struct store *store);

void *range_map_find_slow(struct range_map *map, uint64_t range);

/* Returns the range's value; NULL: none. */
static inline void *range_map_find(struct range_map *map, uint64_t range)
{
	const struct range_entry *recent = &map->recent[range % RANGE_MAP_RECENT];

	return recent->value && recent->number == range ? recent->value
							: range_map_find_slow(map, range);
}
/* Adds a range without a value so far. `value` is not NULL. */
void range_map_put(struct range_map *map, uint64_t range, void *value);
/* Replaces a range's value; the caller has freed or moved the old one. */
void range_map_replace(struct range_map *map, uint64_t range, void *value);
/* Frees the map, and each value with free(). */
void range_map_deinit(struct range_map *map);

/* Returns the last byte of a block; one of 0 bytes occupies its address. */
static inline uint64_t block_last(uint64_t address, uint64_t size)
{
	return address + (size ? size - 1 : 0);
}

#endif
