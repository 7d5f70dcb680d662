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
 * The birth or end at the stream's head, and those that follow it, nothing else between, up to
 * `until` (ticks) and at most `most` (from 1 on) of them. How many. Nearly all records are such:
 * what is the same for all of a run is asked once.
 */
size_t apply_blocks(struct session *session, struct stream *stream, uint64_t until, size_t most);
void apply_realloc_begin(struct session *session, struct stream *stream);
void apply_realloc_done(struct session *session, struct stream *stream);
void apply_realloc_failed(struct stream *stream);
void apply_vptr(struct session *session, struct stream *stream);
/* The allocator was told the block's type: the text stands in a module, as a vtable does. */
void apply_named(struct session *session, struct stream *stream);

/* The stream ends: a realloc that was begun did not happen. */
void apply_realloc_end(struct stream *stream);

/* A vptr was read of the block; `api` is that of the VPTR event. */
void apply_reading(struct entry *entry, uint32_t vtable, unsigned api);

/* A block that has left the registry has ended, at the head's time. */
void apply_block_ended(struct session *session, struct stream *stream, const struct entry *entry,
		       enum block_end how, uint64_t ns);
/* False: no registry can take it. */
bool apply_block_began(struct session *session, struct stream *stream, const struct entry *entry,
		       uint64_t ns);

#endif
