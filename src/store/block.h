/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h: events packed into self-contained compressed blocks, and back. block.c and
 * block_unpack.c are all that knows zstd.
 *
 * Runs: sidecar (pack), CLI (unpack). Signals: no. Allocates: yes. Threads: one a packer.
 */
#ifndef SHINY_BLOCK_H
#define SHINY_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/err.h"
#include "event.h"

struct packer;

SHINY_MUST_CHECK struct shiny_err *packer_create(struct packer **out);
void packer_destroy(struct packer *packer); /* accepts NULL */

/* Takes events until the block is full; returns how many it took (0 < taken <= count unless it was
 * full already). */
size_t packer_add(struct packer *packer, const struct event *events, size_t count);
size_t packer_count(const struct packer *packer); /* events waiting in the block */

struct block {
	const void *data; /* owned by the packer, valid until its next call */
	size_t bytes;
	uint32_t count;
	uint64_t first, last;      /* smallest and largest time */
	const uint32_t *processes; /* the distinct ones, in no order */
	size_t process_count;
};

/* Compresses what has been added (at least one event) and starts a new block. */
SHINY_MUST_CHECK struct shiny_err *packer_finish(struct packer *packer, struct block *out);

/*
 * Any bytes are safe to give: what is not a block is an error that says which rule it breaks (the
 * caller knows which block of which file), perhaps after some of its events.
 */
enum { BLOCK_BATCH = 1024 };
struct unpacker;
SHINY_MUST_CHECK struct shiny_err *unpacker_create(struct unpacker **out);
void unpacker_destroy(struct unpacker *unpacker); /* accepts NULL */
/*
 * The highest ids that there are. What an event says beyond them is read as 0, here and for all
 * readers. As ids enter a block where they are spelt out, and are guessed from those, a block that
 * has none costs a comparison where one is spelt out; of the others each event is looked at.
 */
struct block_ids {
	uint32_t process, thread, stack, vtable, built /* in table class */, tag;
};
void unpacker_limit(struct unpacker *unpacker, const struct block_ids *highest);
/* Ids that were read as 0 since this was asked last. */
uint64_t unpacker_astray(struct unpacker *unpacker);
/* Begins a block. `data` is not needed any more afterwards. */
SHINY_MUST_CHECK struct shiny_err *unpacker_open(struct unpacker *unpacker, const void *data,
						 size_t bytes);
/* The block's next events, up to BLOCK_BATCH; count 0: that was all, and nothing is left over. */
SHINY_MUST_CHECK struct shiny_err *unpacker_next(struct unpacker *unpacker, struct event *events,
						 size_t *count);
/* Whether a block that began in the events so far does not fit an address space (event.h). */
bool unpacker_is_beyond(const struct unpacker *unpacker);

#endif
