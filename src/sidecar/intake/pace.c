/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c: see pace.h. */
#include "pace.h"

#include "../ring/ring_chunks.h"
#include "../ring/spill.h"

/* True if no program maps the ring. A sidecar at low priority tests that itself, as the end of a
 * round may be far away. */
static bool is_gone(const struct rings *rings, const struct ring_file *ring)
{
	return ring->over || ring->ending || (rings->priority.low && !ring_held(ring));
}

/*
 * A ring must last until its sealed chunks are copied to the spill: a sidecar at low priority does
 * that within some ten milliseconds. A spill with room adds to the time.
 */
enum { COPY_MS = 100, COPY_LOWER_MS = 250 };

/* Returns the ms until some ring and the spill are full; 0: no program maps a ring. */
static uint64_t least_time_left(const struct rings *rings)
{
	uint64_t least = UINT64_MAX, speed = 0, left;

	for (size_t i = 0; i < rings->present.count; i++) {
		const struct ring_file *ring = rings->present.at[i];

		if (is_gone(rings, ring))
			continue;
		left = ring_time_left(ring);
		least = left < least ? left : least;
		speed += ring->speed;
	}
	if (least == UINT64_MAX)
		return 0;
	if (least >= (rings->priority.low ? COPY_MS : COPY_LOWER_MS))
		least += spill_room(rings->spill) / (speed + 1);
	return least;
}

/* Tells the programs whether the sidecar is low. Hooks read the same cache line. */
static void tell(const struct rings *rings, uint32_t low)
{
	for (size_t i = 0; i < rings->present.count; i++) {
		uint32_t *told = &rings->present.at[i]->header->sidecar_low;

		if (!rings->present.at[i]->over && __atomic_load_n(told, __ATOMIC_RELAXED) != low)
			__atomic_store_n(told, low, __ATOMIC_RELAXED); /* [ctl] */
	}
}

void pace_follow(struct rings *rings)
{
	uint64_t left = least_time_left(rings);

	/* before it is low: it may not run for long then */
	if (priority_may_lower(&rings->priority, left))
		tell(rings, 1);
	priority_follow(&rings->priority, left);
	if (!rings->priority.low)
		tell(rings, 0);
}

void pace_end(struct rings *rings)
{
	priority_follow(&rings->priority, 0);
}
