/* SPDX-License-Identifier: Apache-2.0 */
/*
 * second_level.h: the part of wire.h about the second level, objects in pools, which lie in other
 * blocks.
 *
 * Runs: both sides. Signals: – Allocates: – Threads: –
 */
#ifndef SHINY_SECOND_LEVEL_H
#define SHINY_SECOND_LEVEL_H

#include <stdint.h>

/* The functions of the second level: a bit each, by enum shiny_api. */
enum {
	SHINY_SECOND_C = 0,
	SHINY_SECOND_SCALAR = 0,
	SHINY_SECOND_ARRAY = 0,
	SHINY_SECOND_ANY = 0,
	SHINY_SECOND_POOL = 1,
	SHINY_POOL_APIS = 0
#define SHINY_API(name, text, family) | SHINY_SECOND_##family << SHINY_API_##name
#include <shiny/wire/api.def>
#undef SHINY_API
};

/* A pool of the second level, which POOL and POOL_ENDS records of this process and its children
 * call `pool`. */
struct shiny_pool {
	uint64_t pool, parent; /* addresses, a multiple of 8; parent 0: none */
	uint32_t name_bytes;   /* the name follows, not terminated, padded with zeros to a whole
	                        * record; 0: it has the name that it had */
	uint32_t changes;      /* enum shiny_pool_change */
	uint64_t reserved;
};
enum shiny_pool_change {
	SHINY_POOL_NEW = 1,    /* the pool that was there has ended */
	SHINY_POOL_PARENT = 2, /* `parent` is its parent from now on */
};
enum shiny_pool_end { /* a sum of these; all three: the pool is destroyed */
	SHINY_POOL_OBJECTS = 1, /* its objects end */
	SHINY_POOL_CHILDREN = 2, /* the pools below it end */
	SHINY_POOL_ITSELF = 4,
	SHINY_POOL_ENDS_MAX = 7,
};

#endif
