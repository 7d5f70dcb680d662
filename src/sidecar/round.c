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

bool round_is_held_back(const struct session *session)
{
	for (size_t i = 0; i < session->present.count; i++)
		if (!session->present.at[i]->over && session->present.at[i]->later &&
		    session->present.at[i]->later_rounds < ROUNDS)
			return true;
	return false;
}

/*
 * Chunks of a thread whose slot an earlier one has had wait until that one is read to its end, and
 * those behind a gap until that is believed: what others have written later waits as well, or it
 * would be out of order. Chunks that no thread comes to, of a ring that lies, hold nobody up for
 * long.
 */
static uint64_t hold_back(const struct session *session, uint64_t now)
{
	for (size_t i = 0; i < session->present.count; i++) {
		struct ring_file *ring = session->present.at[i];

		if (ring->over || !ring->later)
			continue;
		if (ring->later != ring->later_before)
			ring->later_rounds = 0;
		else if (!session->behind) /* the last round came to its end */
			ring->later_rounds++;
		ring->later_before = ring->later;
		if (ring->later_rounds < ROUNDS && ring->later_time < now &&
		    ring->later_time >= session->applied_until)
			now = ring->later_time;
	}
	return now;
}

uint64_t round_run(struct session *session)
{
	uint64_t before = session->total_events, now;

	ticks_calibrate(&session->ticks, session->applied_until);
	errands_take(session->errands, session);
	memory_take_sample(session);
	now = session->ticks.foreign ? UINT64_MAX / 4 : session->looked;
	session_beat(session);
	for (size_t i = 0; i < session->present.count; i++) {
		if (session->present.at[i]->over)
			continue;
		process_scan(session, session->present.at[i]);
		drain_scan(session, session->present.at[i]);
		drain_relieve(session, session->present.at[i]);
		/* [ctl] */
		if (!__atomic_load_n(&session->present.at[i]->header->recording, __ATOMIC_RELAXED))
			session->paused = true;
	}
	process_look_for_ends(session);
	now = hold_back(session, now);
	merge_until(session, now);
	memory_take(session, session->behind ? session->applied_until : now);
	drain_end_streams(session);
	/* who is closed leaves its place to the last */
	for (size_t i = session->running.count; i-- > 0;) {
		struct process *p = session->running.at[i];

		if (p->gone && !p->pending && !spill_left(session->spill, p->ring) &&
		    drain_idle(p->ring, p))
			process_close(session, p);
	}
	for (; session->settled < session->ended.count; session->settled++) {
		struct process *p = session->ended.at[session->settled];

		if (ticks_wall_ns() - p->closed_wall <= 2500 * MS)
			break;
		process_settle(session, p);
	}
	return session->total_events - before;
}
