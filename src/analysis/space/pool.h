/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h: the slots of a pool that does not exist: who asks gets the lowest free one.
 *
 * Runs: CLI. Signals: no. Allocates: a bit a slot that was ever used. Threads: one a pool.
 *
 * A pool that has N slots in use at most therefore never uses more than the first N.
 */
#ifndef SHINY_POOL_H
#define SHINY_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool { /* zeroed: empty */
	uint64_t *free;      /* a bit a slot below `high`, set: it is free */
	uint64_t *summary;   /* a bit a word of `free`, set: it has a free slot */
	uint32_t words;      /* of `free` */
	uint32_t lowest;     /* no word of `summary` below this one has a bit set */
	uint32_t live, high; /* slots in use; in use at once, at most */
};

/* The number of the slot, from 0. */
uint32_t pool_take(struct pool *pool);
/* `slot` is in use. */
void pool_give(struct pool *pool, uint32_t slot);
void pool_deinit(struct pool *pool);

#endif
