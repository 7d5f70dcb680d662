/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c: see pace.h. */
#include "pace.h"

#include "../ring/ring_chunks.h"

/* Milliseconds until some ring is full; 0 when no program maps one. */
static uint64_t least_time_left(const struct session *session)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < session->present.count; i++) {
		const struct ring_file *ring = session->present.at[i];
		uint64_t left = ring->over || ring->ending ? UINT64_MAX : ring_time_left(ring);

		least = left < least ? left : least;
	}
	return least < UINT64_MAX ? least : 0;
}

void pace_follow(struct session *session)
{
	priority_follow(&session->priority, least_time_left(session));
}

void pace_end(struct session *session)
{
	priority_follow(&session->priority, 0);
}
