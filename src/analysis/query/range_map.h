/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_map.h: something kept for each aligned range of 2 MiB of an address space.
 *
 * Runs: CLI. Signals: no. Allocates: 27 to 54 bytes a range (mem.h), and a map is 2 KiB; what a
 * range has is its owner's. Threads: one a map; the account is all threads'.
 *
 * A few bytes of a session file can say that a block lies on a million ranges, or a million blocks
 * on a range each. So all maps share an account: who begins with a session opens it, who fills a
 * map asks it first, and leaves off when it is spent; the end result is an error then.
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

/* That a range costs beside what it has: its entry and cells, also while they are copied; the
 * allocator's. */
enum { RANGE_MAP_BYTES = 80 };

struct range_entry {
	uint64_t number; /* address / 2 MiB */
	void *value;	 /* not NULL */
};
/* Threads' heaps lie far from each other, and their events come in turns. */
enum { RANGE_MAP_RECENT = 128 };
struct range_map { /* zeroed: empty */
	VEC(struct range_entry) ranges; /* in the order in which they came */
	struct hash_table index;	/* of ranges */
	uint64_t bytes;			/* that it took from the account */
	/* that were asked for last, by the number's last bits: most events lie near each other */
	struct range_entry recent[RANGE_MAP_RECENT];
};

/* Opens the account, for a session of this store. Analyses that share a pass (replay_together.h)
 * share it, and what each may spend is added up. */
void range_maps_begin(const struct store *store);
/* Whether so many ranges may be gone through, and so many bytes kept of them, in this map. Once
 * not, never again. */
bool range_map_afford(struct range_map *map, uint64_t ranges, uint64_t bytes);
bool range_maps_spent(void);
/* Closes it, once for each range_maps_begin(). NULL, or that the account is spent. */
SHINY_MUST_CHECK struct shiny_err *range_maps_end(const struct store *store);

void *range_map_find_slow(struct range_map *map, uint64_t range);

/* NULL: nothing was put there. */
static inline void *range_map_find(struct range_map *map, uint64_t range)
{
	const struct range_entry *recent = &map->recent[range % RANGE_MAP_RECENT];

	return recent->value && recent->number == range ? recent->value
							: range_map_find_slow(map, range);
}
/* There was nothing yet. `value` is not NULL. */
void range_map_put(struct range_map *map, uint64_t range, void *value);
/* There was something, which the caller has freed or moved. */
void range_map_replace(struct range_map *map, uint64_t range, void *value);
/* Frees the table, and each value with free(). */
void range_map_deinit(struct range_map *map);

/* Last byte of a block: one of 0 bytes has an address and holds its place. */
static inline uint64_t block_last(uint64_t address, uint64_t size)
{
	return address + (size ? size - 1 : 0);
}

#endif
