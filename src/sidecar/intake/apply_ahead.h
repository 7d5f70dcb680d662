/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_ahead.h: what a stream's records ahead of the next one will look up is fetched: far enough
 * to arrive, near enough to stay.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_APPLY_AHEAD_H
#define SHINY_APPLY_AHEAD_H

#include "../state/session.h"

enum { RECORDS_AHEAD = 96, TAGS_AHEAD = 20, AHEAD = 10 };
/* So few, 128 KiB, are in the processor's second cache: asking for them costs more than it
 * saves. */
enum { SEGMENTS_CACHED = 4 };

/* Inlined always, as registry_prefetch is, and for its reason. */
static inline __attribute__((always_inline)) void apply_fetch(const struct stream *s)
{
	const struct registry *registry = &s->process->registry;

	/* the processor finds out by itself only where nothing else is read between two records */
	__builtin_prefetch(&s->cursor.chunk->records[s->cursor.position + RECORDS_AHEAD]);
	if (registry->segments.count <= SEGMENTS_CACHED)
		return;
	registry_prefetch_tags(registry, decode_peek(&s->cursor, TAGS_AHEAD));
	registry_prefetch(registry, decode_peek(&s->cursor, AHEAD));
}

#endif
