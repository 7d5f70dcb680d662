/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_behind.h: events, packed into blocks by a thread of their own behind their writer.
 *
 * Runs: sidecar. Signals: no. Allocates: 12 MB. Threads: one writer; the other thread is its own.
 *
 * Packing and compressing is a fifth of what an event costs the sidecar, and nothing of the rest
 * waits for it: so the loop that has to keep up with the rings leaves it to another thread, where
 * there is a processor for one. Nothing is lost by that: a commit waits until all is packed. The
 * thread has the priority of the loop, as the loop waits for it when a second of events is behind.
 *
 * It begins when there is work for it: a short command's few events are packed by the writer. So
 * are all where no thread is to be had.
 *
 * Events are not copied on their way: the writer makes them where the thread reads them.
 */
#ifndef SHINY_PACK_BEHIND_H
#define SHINY_PACK_BEHIND_H

#include "block.h"

struct pack_behind;

SHINY_MUST_CHECK struct shiny_err *pack_behind_create(struct pack_behind **out);
/* Drops blocks that were not taken. Accepts NULL. */
void pack_behind_destroy(struct pack_behind *behind);

/* Where the next events go, `*room` of them at most; the same until some are put, or the block is
 * ended. NULL: a block is finished, take it first. */
struct event *pack_behind_room(struct pack_behind *behind, size_t *room);
/* The first `count` events of that room are there. */
void pack_behind_put(struct pack_behind *behind, size_t count);
/* Ends the block that is being packed. False: a block is finished, take it first. */
bool pack_behind_end(struct pack_behind *behind);
/* The earliest finished block; NULL: there is none. Its data are there until pack_behind_taken. */
SHINY_MUST_CHECK struct shiny_err *pack_behind_take(struct pack_behind *behind,
						    const struct block **out);
void pack_behind_taken(struct pack_behind *behind);

#endif
