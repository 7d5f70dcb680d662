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
	uint64_t before = session->output.total_events, now;

	ticks_calibrate(&session->output.ticks, session->output.applied_until);
	errands_take(session->errands, session);
	mappings_take_sample(session);
	now = session->output.ticks.foreign ? UINT64_MAX / 4 : session->rings.looked;
	rings_beat(&session->rings, &session->output.ticks);
	for (size_t i = 0; i < session->rings.present.count; i++) {
		if (session->rings.present.at[i]->over)
			continue;
		process_scan(session, session->rings.present.at[i]);
		drain_scan(session, session->rings.present.at[i]);
		drain_relieve(&session->rings, session->rings.present.at[i]);
		/* [ctl] */
		if (!__atomic_load_n(&session->rings.present.at[i]->header->recording,
				     __ATOMIC_RELAXED))
			session->rings.paused = true;
	}
	process_look_for_ends(session);
	now = hold_back(&session->rings, &session->output, now);
	merge_until(session, now);
	mappings_take(session, session->rings.behind ? session->output.applied_until : now);
	drain_end_streams(&session->rings, &session->output);
	/* backwards, as closing moves the last process to the closed one's place */
	for (size_t i = session->running.count; i-- > 0;) {
		struct process *p = session->running.at[i];

		if (p->gone && !p->pending && !spill_left(session->rings.spill, p->ring) &&
		    drain_idle(p->ring, p))
			process_close(session, p);
	}
	for (; session->settled < session->ended.count; session->settled++) {
		struct process *p = session->ended.at[session->settled];

		if (ticks_wall_ns() - p->closed_wall <= 2500 * MS)
			break;
		process_settle(&session->output, p);
	}
	return session->output.total_events - before;
}
