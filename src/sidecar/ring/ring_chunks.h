/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_chunks.h: the chunks of a ring as the sidecar handles them: given back, grown, sealed for
 * the dead.
 *
 * Runs: sidecar. Signals: no. Allocates: space of the ring's file. Threads: one.
 */
#ifndef SHINY_RING_CHUNKS_H
#define SHINY_RING_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ring_file.h"

/* A chunk that is in use, and the word of its state. */
typedef void ring_chunk_fn(void *context, struct ring_file *ring, uint32_t chunk, uint64_t word);

/* Looks at each chunk that has space: `each` (or NULL) gets those in use, which are counted. */
void ring_each_chunk(struct ring_file *ring, ring_chunk_fn *each, void *context);

/* More space where it is getting scarce, by the counts of the last look. */
void ring_grow(struct ring_file *ring);

/*
 * Milliseconds until the ring is full, at its writers' pace, if nobody reads it; 0 of one that is
 * too new to tell.
 */
uint64_t ring_time_left(const struct ring_file *ring);

/* More than a quarter of it is in use, three quarters where it can grow, and the rest will be full
 * in less than SPILL_MS. */
bool ring_fills_up(const struct ring_file *ring);

/* It has been read, `used` records of it at most were written. */
void ring_give_chunk(struct ring_file *ring, uint32_t chunk, uint32_t used);

/* Some thread may write to it. */
bool ring_chunk_is_open(const struct ring_file *ring, uint32_t chunk, uint64_t *word);

/* Seals it in place of its writer, which is dead. */
void ring_reap_chunk(struct ring_file *ring, uint32_t chunk, uint64_t word);

#endif
