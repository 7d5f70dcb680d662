/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_ahead.h: prefetches what a stream's later records will look up: early enough to arrive,
 * late enough to stay in the cache.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_APPLY_AHEAD_H
#define SHINY_APPLY_AHEAD_H

#include "../state/session_process.h"
#include "../state/session_stream.h"

enum { RECORDS_AHEAD = 96, TAGS_AHEAD = 20, AHEAD = 10 };
/* So few segments, 128 KiB, are in the processor's second cache: prefetching costs more than it
 * saves. */
enum { SEGMENTS_CACHED = 4 };

/* Always inlined, for the reason that registry_prefetch gives. */
static inline __attribute__((always_inline)) void apply_fetch(const struct stream *s)
{
	const struct registry *registry = &s->process->registry;

	/* the processor prefetches records by itself only if nothing else is read between two of
	 * them */
	__builtin_prefetch(&s->cursor.chunk->records[s->cursor.position + RECORDS_AHEAD]);
	if (registry->segments.count <= SEGMENTS_CACHED)
		return;
	registry_prefetch_tags(registry, decode_peek(&s->cursor, TAGS_AHEAD));
	registry_prefetch(registry, decode_peek(&s->cursor, AHEAD));
}

#endif
