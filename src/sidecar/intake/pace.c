/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c: see pace.h. */
#include "pace.h"

#include "../ring/ring_chunks.h"
#include "../ring/spill.h"

/* True if no program maps the ring. A sidecar at low priority tests that itself, as the end of a
 * round may be far away. */
static bool is_gone(const struct session *session, const struct ring_file *ring)
{
	return ring->over || ring->ending || (session->priority.low && !ring_held(ring));
}

/*
 * A ring must last until its sealed chunks are copied to the spill: a sidecar at low priority does
 * that within some ten milliseconds. A spill with room adds to the time.
 */
enum { COPY_MS = 100, COPY_LOWER_MS = 250 };

/* Returns the ms until some ring and the spill are full; 0: no program maps a ring. */
static uint64_t least_time_left(const struct session *session)
{
	uint64_t least = UINT64_MAX, speed = 0, left;

	for (size_t i = 0; i < session->present.count; i++) {
		const struct ring_file *ring = session->present.at[i];

		if (is_gone(session, ring))
			continue;
		left = ring_time_left(ring);
		least = left < least ? left : least;
		speed += ring->speed;
	}
	if (least == UINT64_MAX)
		return 0;
	if (least >= (session->priority.low ? COPY_MS : COPY_LOWER_MS))
		least += spill_room(session->spill) / (speed + 1);
	return least;
}

/* Tells the programs whether the sidecar is low. Hooks read the same cache line. */
static void tell(const struct session *session, uint32_t low)
{
	for (size_t i = 0; i < session->present.count; i++) {
		uint32_t *told = &session->present.at[i]->header->sidecar_low;

		if (!session->present.at[i]->over && __atomic_load_n(told, __ATOMIC_RELAXED) != low)
			__atomic_store_n(told, low, __ATOMIC_RELAXED); /* [ctl] */
	}
}

void pace_follow(struct session *session)
{
	uint64_t left = least_time_left(session);

	/* before it is low: it may not run for long then */
	if (priority_may_lower(&session->priority, left))
		tell(session, 1);
	priority_follow(&session->priority, left);
	if (!session->priority.low)
		tell(session, 0);
}

void pace_end(struct session *session)
{
	priority_follow(&session->priority, 0);
}
