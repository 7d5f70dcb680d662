/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c: see merge.h. */
#include "merge.h"

#include "../process/inheritance.h"
#include "../process/lifecycle.h"
#include "../ring/ring_chunks.h"
#include "apply.h"
#include "apply_ahead.h"
#include "drain.h"
#include "order.h"
#include "pace.h"
#include "uncommitted.h"

#define BEAT_RECORDS 65536
#define ROOM_RECORDS 4096

static uint64_t key_of(const struct stream *s)
{
	bool ending = s->head.kind == SHINY_REC_FREE || s->head.kind == SHINY_REC_REALLOC_BEGIN;

	return s->head.time * 2 + !ending;
}

/* Grows and spills rings within a merge, as at a low priority even a part of a merge takes long.
 * Returns the number of chunks looked at. */
static uint64_t look_for_room(struct session *session)
{
	struct rings *rings = &session->rings;
	uint64_t chunks = 0;

	for (size_t i = 0; i < rings->present.count; i++)
		if (!rings->present.at[i]->over) {
			struct ring_file *ring = rings->present.at[i];

			ring_each_chunk(ring, NULL, NULL);
			ring_grow(ring);
			if (rings->spill && ring_fills_up(ring)) {
				drain_scan(session, ring);
				drain_relieve(rings, ring);
				ring_each_chunk(ring, NULL, NULL);
			}
			chunks += ring->present[0] + ring->present[1];
		}
	pace_follow(rings);
	return chunks;
}

/*
 * Does within a long merge what cannot wait for its end: meanwhile processes start, fill their
 * rings and end.
 */
static void attend(struct session *session)
{
	struct rings *rings = &session->rings;

	rings_beat(rings, &session->output.ticks);
	for (size_t i = 0; i < rings->present.count; i++)
		if (!rings->present.at[i]->over)
			process_scan(session, rings->present.at[i]);
	look_for_room(session);
	process_watch(session, ticks_wall_ns());
}

/* Returns the latest time at which every record has a key up to `limit`. */
static uint64_t time_within(uint64_t limit)
{
	return limit ? (limit - 1) / 2 : 0;
}

/* True if the merge should stop for a commit. */
static bool is_enough(const struct rings *rings, uint64_t end)
{
	return ticks_wall_ns() >= end || rings->uncommitted_bytes >= UNCOMMITTED_MOST;
}

void merge_until(struct session *session, uint64_t until)
{
	struct rings *rings = &session->rings;
	struct order order = { 0 };
	uint64_t applied = 0, beat_at = BEAT_RECORDS, look_at = ROOM_RECORDS;
	uint64_t end = ticks_wall_ns() + session->options->merge_ns;
	struct stream *s;

	rings->behind = false;

	for (size_t i = 0; i < rings->streams.count; i++) {
		s = rings->streams.at[i];
		if ((s->has_head || drain_pull(rings, &session->output.ticks, s)) &&
		    s->head.time <= until)
			order_add(&order, key_of(s), s);
	}
	while (!rings->behind && !session->output.err && (s = order_first(&order))) {
		uint64_t limit = order_limit(&order), key;
		uint64_t alone = time_within(limit) < until ? time_within(limit) : until;
		bool more;

		do {
			applied += apply_record(session, s, alone, ROOM_RECORDS);
			s->has_head = false;
			if (applied >= beat_at) {
				attend(session);
				beat_at = applied + BEAT_RECORDS;
				rings->behind = is_enough(rings, end);
			} else if (rings->priority.low && applied >= look_at) {
				/* large rings last longer: look again after as many records as
				 * there are chunks */
				uint64_t chunks = look_for_room(session);

				look_at = applied + (chunks > ROOM_RECORDS ? chunks : ROOM_RECORDS);
				rings->behind = is_enough(rings, end);
			}
			if (s->chunks.current >= 0)
				apply_fetch(s);
			more = drain_pull(rings, &session->output.ticks, s) &&
			       s->head.time <= until;
			key = key_of(s);
		} while (more && key <= limit && !rings->behind && !session->output.err);
		if (more) {
			order_change_first(&order, key);
		} else {
			order_remove_first(&order);
		}
	}
	if (!order_first(&order))
		rings->behind = false;
	else
		until = ((const struct stream *)order_first(&order))->head.time - 1;
	order_deinit(&order);
	process_take_over(session, until);
	if (until > session->output.applied_until)
		session->output.applied_until = until;
}
