/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h: packs events into self-contained compressed blocks, and unpacks them. Only block.c and
 * block_unpack.c use zstd.
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

/* Adds events until the block is full; returns how many it added (0 < added <= count unless it was
 * full already). */
size_t packer_add(struct packer *packer, const struct event *events, size_t count);
size_t packer_count(const struct packer *packer); /* events waiting in the block */

struct block {
	const void *data; /* owned by the packer, valid until its next call */
	size_t bytes;
	uint32_t count;
	uint64_t first, last;      /* smallest and largest time */
	const uint32_t *processes; /* ids of the distinct processes, ascending */
	size_t process_count;
};

/* Compresses the added events (at least one) and starts a new block. */
SHINY_MUST_CHECK struct shiny_err *packer_finish(struct packer *packer, struct block *out);

/*
 * The unpacker accepts any bytes: if they are not a block, the error says which rule they break
 * (the caller knows which block of which file), possibly after some of the events.
 */
enum { BLOCK_BATCH = 1024 };
struct unpacker;
SHINY_MUST_CHECK struct shiny_err *unpacker_create(struct unpacker **out);
void unpacker_destroy(struct unpacker *unpacker); /* accepts NULL */
/*
 * The highest existing ids. The unpacker reads a higher id in an event as 0, for itself and for all
 * readers. Ids enter a block spelt out and are guessed from those, so a block without higher ids
 * costs one comparison for each spelt-out id; in other blocks each event is checked.
 */
struct block_ids {
	uint32_t process, thread, stack, vtable, built /* in table class */, tag;
};
void unpacker_limit(struct unpacker *unpacker, const struct block_ids *highest);
/* Returns the number of ids read as 0 since the last call. */
uint64_t unpacker_astray(struct unpacker *unpacker);
/* Begins a block. `data` may be freed afterwards. */
SHINY_MUST_CHECK struct shiny_err *unpacker_open(struct unpacker *unpacker, const void *data,
						 size_t bytes);
/* Reads the block's next events, up to BLOCK_BATCH; count 0: there are no more, and no bytes are
 * left over. */
SHINY_MUST_CHECK struct shiny_err *unpacker_next(struct unpacker *unpacker, struct event *events,
						 size_t *count);
/* True if a birth among the events so far does not fit an address space (event.h). */
bool unpacker_is_beyond(const struct unpacker *unpacker);

#endif
