/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_map.h: where each live block lies in pools that do not exist (pooling.h).
 *
 * Runs: CLI. Signals: no. Allocates: 43 to 86 bytes a live block (mem.h). Threads: one
 * a map.
 */
#ifndef SHINY_PLACE_MAP_H
#define SHINY_PLACE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/hash_table.h"
#include "../../base/mem.h"

enum { PLACE_POOLS = 2 };
struct pool_place {
	uint64_t address;
	uint32_t process;
	bool slow;        /* the block has a mapping of its own */
	struct { uint32_t pool, slot; } in[PLACE_POOLS]; /* pool: an index */
};
struct place_map { /* zeroed: empty */
	VEC(struct pool_place) places;
	struct hash_table index; /* of places */
};

/* NULL: there is none. Good until the next place is added or removed. */
struct pool_place *place_map_find(const struct place_map *map, uint32_t process, uint64_t address);
/* There is none yet at that address. */
void place_map_add(struct place_map *map, const struct pool_place *place);
/* The result of place_map_find. */
void place_map_remove(struct place_map *map, struct pool_place *place);
void place_map_deinit(struct place_map *map);

#endif
