/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h: numbers the slots of an imaginary pool, which gives out its lowest free one.
 *
 * Runs: CLI. Signals: no. Allocates: a bit a slot that was ever used. Threads: one a pool.
 *
 * So a pool with at most N slots in use only ever uses the first N.
 */
#ifndef SHINY_POOL_H
#define SHINY_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool { /* zeroed: empty */
	uint64_t *free;      /* a bit for each slot below `high`, set: free */
	uint64_t *summary;   /* a bit for each word of `free`, set: it has a free slot */
	uint32_t words;      /* number of words in `free` */
	uint32_t lowest;     /* index of the first word of `summary` that may have a bit set */
	uint32_t live, high; /* slots in use; the most at once */
};

/* Takes the lowest free slot; returns its number, from 0. */
uint32_t pool_take(struct pool *pool);
/* Frees `slot`, which is in use. */
void pool_give(struct pool *pool, uint32_t slot);
void pool_deinit(struct pool *pool);

#endif
