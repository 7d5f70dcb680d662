/* SPDX-License-Identifier: Apache-2.0 */
/* round.c: see round.h. */
#include "round.h"

#include "intake/drain.h"
#include "intake/merge.h"
#include "proc/errands.h"
#include "ring/spill.h"
#include "process/ending.h"
#include "process/lifecycle.h"
#include "process/settle.h"
#include "sample_budget.h"
#include "vm/mappings_sample.h"

#define MS UINT64_C(1000000)

enum { ROUNDS = 4 };

bool round_is_held_back(const struct rings *rings)
{
	for (size_t i = 0; i < rings->present.count; i++)
		if (!rings->present.at[i]->over && rings->present.at[i]->later &&
		    rings->present.at[i]->later_rounds < ROUNDS)
			return true;
	return false;
}

/*
 * Lowers `now` to the time of chunks that cannot be read yet. Chunks of a thread wait until the
 * earlier thread of its slot is read to its end, chunks behind a gap until the gap counts; later
 * records of other threads must wait as well, or they would be out of order. Chunks of a lying ring
 * that never become readable delay others for ROUNDS rounds only.
 */
static uint64_t hold_back(const struct rings *rings, const struct output *output, uint64_t now)
{
	for (size_t i = 0; i < rings->present.count; i++) {
		struct ring_file *ring = rings->present.at[i];

		if (ring->over || !ring->later)
			continue;
		if (ring->later != ring->later_before)
			ring->later_rounds = 0;
		else if (!rings->behind) /* the last round was complete */
			ring->later_rounds++;
		ring->later_before = ring->later;
		if (ring->later_rounds < ROUNDS && ring->later_time < now &&
		    ring->later_time >= output->applied_until)
			now = ring->later_time;
	}
	return now;
}

uint64_t round_run(struct session *session)
{
	struct rings *rings = &session->rings;
	struct output *output = &session->output;
	struct people *people = &session->people;
	uint64_t before = output->total_events, now;

	ticks_calibrate(&output->ticks, output->applied_until);
	errands_take(people->errands, session);
	mappings_take_sample(session);
	now = output->ticks.foreign ? UINT64_MAX / 4 : rings->looked;
	rings_beat(rings, &output->ticks);
	for (size_t i = 0; i < rings->present.count; i++) {
		if (rings->present.at[i]->over)
			continue;
		process_scan(session, rings->present.at[i]);
		drain_scan(session, rings->present.at[i]);
		drain_relieve(rings, rings->present.at[i]);
		/* [ctl] */
		if (!__atomic_load_n(&rings->present.at[i]->header->recording, __ATOMIC_RELAXED))
			rings->paused = true;
	}
	process_look_for_ends(people, output);
	sample_budget_follow(session);
	now = hold_back(rings, output, now);
	merge_until(session, now);
	mappings_take(session, rings->behind ? output->applied_until : now);
	drain_end_streams(rings, output);
	/* backwards, as closing moves the last process to the closed one's place */
	for (size_t i = people->running.count; i-- > 0;) {
		struct process *p = people->running.at[i];

		if (p->gone && !p->pending && !spill_left(rings->spill, p->ring) &&
		    drain_idle(p->ring, p))
			process_close(people, output, p);
	}
	for (; people->settled < people->ended.count; people->settled++) {
		struct process *p = people->ended.at[people->settled];

		/* the total, too, has come to its end: only then is the peak before it known */
		if (ticks_wall_ns() - p->closed_wall <= 2500 * MS || !p->stats.live.left)
			break;
		total_until(&output->second, output->applied_until);
		for (; p; p = p->above)
			process_settle(output, p);
	}
	return output->total_events - before;
}
