/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pools.h: the pools of a process of the second level, and the objects in them.
 *
 * Runs: sidecar. Signals: no. Allocates: some 50 bytes an object, 60 a pool. Threads: one.
 *
 * Pools are a forest. Each lists its objects, so that ending a pool costs what it ends. Objects are
 * known by address: an object that is freed leaves its list at once.
 */
#ifndef SHINY_POOLS_H
#define SHINY_POOLS_H

#include <stdint.h>

#include "../../base/hash_table.h"
#include "../../base/mem.h"

struct pool_node { /* links are an index + 1; 0: none */
	uint64_t key;
	uint32_t tag; /* session-wide id of its name, 0 none */
	uint32_t parent, child, next, previous; /* next, previous: below the same parent */
	uint32_t object;			/* the first of its objects */
};
struct pool_object {
	uint64_t address;
	uint32_t pool, next, previous;
};
struct pools { /* zeroed: none */
	VEC(struct pool_node) list;
	VEC(struct pool_object) objects;
	struct hash_table keys, addresses;
	uint32_t free_pool, free_object; /* unused cells, linked by `next` */
};
typedef VEC(uint64_t) pool_addresses;

/* Returns the pool of this key, created when new; its address holds until the next call. */
struct pool_node *pools_get(struct pools *pools, uint64_t key);
/* Makes `parent` the parent of the pool; 0: it has none. A parent below it is refused. */
void pools_set_parent(struct pools *pools, uint64_t key, uint64_t parent);

/* Adds an object; if it is there, it changes its pool. */
void pools_add(struct pools *pools, uint64_t key, uint64_t address);
/* Removes an object; returns the key of its pool, 0: it is in none. */
uint64_t pools_remove(struct pools *pools, uint64_t address);

/* Removes what ends: `what` is a sum of enum shiny_pool_end. Appends the addresses of the
 * objects. */
void pools_end(struct pools *pools, uint64_t key, unsigned what, pool_addresses *out);

/* Copies all, into an empty one. */
void pools_clone(struct pools *to, const struct pools *from);
void pools_deinit(struct pools *pools);

#endif
