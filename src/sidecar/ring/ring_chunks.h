/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_chunks.h: operations on a ring's chunks: release, grow, seal for dead writers.
 *
 * Runs: sidecar. Signals: no. Allocates: space of the ring's file. Threads: one.
 */
#ifndef SHINY_RING_CHUNKS_H
#define SHINY_RING_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ring_file.h"

/* Called for a chunk in use, with the word of its state. */
typedef void ring_chunk_fn(void *context, struct ring_file *ring, uint32_t chunk, uint64_t word);

/* Calls `each` (may be NULL) for each chunk in use, and counts present and busy chunks. */
void ring_each_chunk(struct ring_file *ring, ring_chunk_fn *each, void *context);

/* Grows chunks and slots that are getting scarce, by the counts of the last look. */
void ring_grow(struct ring_file *ring);

/*
 * Returns the ms until the ring is full at its writers' pace, if it is not read; 0 if it is too new
 * to tell.
 */
uint64_t ring_time_left(const struct ring_file *ring);

/* True if more than a quarter of it is in use, or three quarters if it can grow, and the rest will
 * be full in less than SPILL_MS. */
bool ring_fills_up(const struct ring_file *ring);

/* Releases a chunk that has been read; at most `used` of its records were written. */
void ring_give_chunk(struct ring_file *ring, uint32_t chunk, uint32_t used);

/* True if a thread may write to the chunk; sets *word. */
bool ring_chunk_is_open(const struct ring_file *ring, uint32_t chunk, uint64_t *word);

/* Seals the chunk of a dead writer. */
void ring_reap_chunk(struct ring_file *ring, uint32_t chunk, uint64_t word);

#endif
