/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_behind.h: packs events into blocks in a separate thread, behind their writer.
 *
 * Runs: sidecar. Signals: no. Allocates: 12 MB. Threads: one writer, and one of its own.
 *
 * Packing and compressing is a fifth of an event's cost in the sidecar, and no other work waits for
 * it: so the loop, which has to keep up with the rings, leaves it to another thread, if a processor
 * is free. No event can be lost: a commit waits until all are packed. The thread has the loop's
 * priority, as the loop waits for it at each commit.
 *
 * The thread starts when there is enough work: the writer packs a short command's few events, and
 * all events if the thread cannot be created.
 *
 * Events are not copied: the writer writes them where the thread reads them.
 */
#ifndef SHINY_PACK_BEHIND_H
#define SHINY_PACK_BEHIND_H

#include "block.h"

struct pack_behind;

SHINY_MUST_CHECK struct shiny_err *pack_behind_create(struct pack_behind **out);
/* Frees it, with blocks that were not taken. Accepts NULL. */
void pack_behind_destroy(struct pack_behind *behind);

/* Returns the place for the next events, at most *room; it is the same until events are put, or the
 * block is ended. NULL: a block is finished, take it first. */
struct event *pack_behind_room(struct pack_behind *behind, size_t *room);
/* Adds the first `count` events of that place. */
void pack_behind_put(struct pack_behind *behind, size_t count);
/* Ends the block under way. False: a block is finished, take it first. */
bool pack_behind_end(struct pack_behind *behind);
/* Returns the earliest finished block; NULL: there is none. Its data is valid until
 * pack_behind_taken. */
SHINY_MUST_CHECK struct shiny_err *pack_behind_take(struct pack_behind *behind,
						    const struct block **out);
void pack_behind_taken(struct pack_behind *behind);

#endif
