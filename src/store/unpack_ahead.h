/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_ahead.h: blocks of events, unpacked by a thread of their own while their reader works on
 * the events before.
 *
 * Runs: CLI, sidecar (recovery). Signals: no. Allocates: about 10 MB. Threads: one reader; the
 * other thread is its own.
 *
 * Unpacking takes as long as following every block does, and needs nothing of it: on two processors
 * a replay takes half the time. The events pass through a ring of batches that stays in the cache.
 * Where no thread is to be had, the reader unpacks by itself.
 */
#ifndef SHINY_UNPACK_AHEAD_H
#define SHINY_UNPACK_AHEAD_H

#include "block.h"

struct unpack_ahead;

/* `highest`: of ids (block.h); NULL: any. */
SHINY_MUST_CHECK struct shiny_err *unpack_ahead_create(const struct block_ids *highest,
						       struct unpack_ahead **out);
/* Also in the middle of a block. Accepts NULL. */
void unpack_ahead_destroy(struct unpack_ahead *ahead);

/* Another block can be given. Give as many as there is room for, before their events are taken. */
bool unpack_ahead_has_room(const struct unpack_ahead *ahead);
/* The bytes are copied. */
SHINY_MUST_CHECK struct shiny_err *unpack_ahead_give(struct unpack_ahead *ahead, const void *data,
						     size_t bytes);
/*
 * The next events of the earliest block whose end has not been taken; valid until the next call.
 * count 0: its end. So is an error: also that a block lies where no address space has room.
 */
SHINY_MUST_CHECK struct shiny_err *unpack_ahead_take(struct unpack_ahead *ahead,
						     const struct event **events, size_t *count);
/* Ids beyond the highest, in the events that were taken, where they are 0. */
uint64_t unpack_ahead_astray(const struct unpack_ahead *ahead);

#endif
