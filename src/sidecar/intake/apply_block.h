/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_block.h: records of allocators: blocks begin, end, move, and get a class.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_APPLY_BLOCK_H
#define SHINY_APPLY_BLOCK_H

#include "apply_event.h"

/*
 * Applies the birth or end at the stream's head, and those that follow without other records
 * between, up to `until` (ticks; 0: none) and at most `most` (>= 1). Returns how many. Nearly all
 * records are such; so whatever is the same for a run is computed once.
 */
size_t apply_blocks(struct output *output, struct stream *stream, uint64_t until, size_t most);
void apply_realloc_begin(struct output *output, struct stream *stream);
void apply_realloc_done(struct output *output, struct stream *stream);
void apply_realloc_failed(struct stream *stream);
void apply_vptr(struct output *output, struct stream *stream);
/* Takes the type's name that the allocator was given: the text is in a module, as a vtable is. */
void apply_named(struct output *output, struct stream *stream);

/* Gives the block that contains the object at the head the type of the head's key. */
void apply_typed(struct output *output, struct stream *stream);

/* Call when the stream ends: a realloc that had begun did not happen. */
void apply_realloc_end(struct stream *stream);

/* Stores the vptr that was read from the block; `api` is that of the VPTR event. */
void apply_reading(struct entry *entry, uint32_t vtable, unsigned api);
/* Stores what the block's allocator, a pool or the program's run time said of its type. */
void apply_said(struct output *output, struct stream *s, struct entry *entry, uint32_t vtable);

/* Counts the end of a block that has left the registry, at the head's time. */
void apply_block_ended(struct output *output, struct stream *stream, const struct entry *entry,
		       enum block_end how, uint64_t ns);
/* Adds a new block; false: no registry can take it. */
bool apply_block_began(struct output *output, struct stream *stream, const struct entry *entry,
		       uint64_t ns);

#endif
