/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_ahead.h: unpacks blocks of events in a separate thread, while their reader handles earlier
 * events.
 *
 * Runs: CLI, sidecar (recovery). Signals: no. Allocates: about 10 MB. Threads: one reader, and one
 * of its own.
 *
 * Unpacking takes as long as following every block, and is independent of it: on two processors a
 * replay takes half the time. The events pass through a ring of batches that stays in the cache. If
 * the thread cannot be created, the reader unpacks.
 */
#ifndef SHINY_UNPACK_AHEAD_H
#define SHINY_UNPACK_AHEAD_H

#include "block.h"

struct unpack_ahead;

/* `highest`: existing ids (block.h); NULL: any id is read. */
SHINY_MUST_CHECK struct shiny_err *unpack_ahead_create(const struct block_ids *highest,
						       struct unpack_ahead **out);
/* May be called within a block. Accepts NULL. */
void unpack_ahead_destroy(struct unpack_ahead *ahead);

/* True if another block can be given. Give as many as there is room for, before taking their
 * events. */
bool unpack_ahead_has_room(const struct unpack_ahead *ahead);
/* Gives a block; its bytes are copied. */
SHINY_MUST_CHECK struct shiny_err *unpack_ahead_give(struct unpack_ahead *ahead, const void *data,
						     size_t bytes);
/*
 * Takes the next events of the earliest block whose end has not been taken; valid until the next
 * call. count 0: its end. An error ends the block, too, for instance a birth that does not fit an
 * address space.
 */
SHINY_MUST_CHECK struct shiny_err *unpack_ahead_take(struct unpack_ahead *ahead,
						     const struct event **events, size_t *count);
/* Returns the number of ids above `highest` in the events taken; those events have 0 instead. */
uint64_t unpack_ahead_astray(const struct unpack_ahead *ahead);

#endif
