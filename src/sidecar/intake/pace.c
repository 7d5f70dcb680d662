/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c: see pace.h. */
#include "pace.h"

#include "../ring/ring_chunks.h"

/* A low sidecar may be long in coming to the end of a round, and must not look for it only then. */
static bool is_gone(const struct session *session, const struct ring_file *ring)
{
	return ring->over || ring->ending || (session->priority.low && !ring_held(ring));
}

/* Milliseconds until some ring is full; 0 when no program maps one. */
static uint64_t least_time_left(const struct session *session)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < session->present.count; i++) {
		const struct ring_file *ring = session->present.at[i];
		uint64_t left = is_gone(session, ring) ? UINT64_MAX : ring_time_left(ring);

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
