/* SPDX-License-Identifier: Apache-2.0 */
/* ring_end.c: see ring_end.h. */
#include "ring_end.h"

#include "intake/drain.h"
#include "process/ending.h"
#include "process/lifecycle.h"
#include "process/notices.h"
#include "ring/spill.h"

static uint64_t events_of(const struct people *people, const struct ring_file *ring)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < people->running.count; i++)
		if (people->running.at[i]->ring == ring)
			sum += people->running.at[i]->events;
	return sum;
}

static bool is_empty(const struct rings *rings, const struct ring_file *ring)
{
	for (size_t i = 0; i < rings->streams.count; i++)
		if (rings->streams.at[i]->ring == ring)
			return false;
	return !ring->busy[0] && !ring->busy[1] && !spill_left(rings->spill, ring);
}

/*
 * True if a ring that no process maps any more is drained. The first round since then may have
 * begun earlier; the second sees all remaining chunks, and a round without any is the last. Two
 * rounds confirm a gap in the numbers, the third reads the chunks behind it; a damaged ring is
 * given up after 64 rounds, or after four without records. Threads that had the same slot one after
 * the other are read in as many rounds.
 */
static bool is_drained(const struct session *session, struct ring_file *ring)
{
	uint64_t events;

	if (session->rings.behind)
		return false;
	ring->rounds++;
	if (ring->rounds < 2)
		return false;
	if (ring->later && !ring->later_rounds)
		ring->rounds = 2;
	if (is_empty(&session->rings, ring))
		return true;
	events = events_of(&session->people, ring);
	ring->quiet = events != ring->seen ? 0 : ring->quiet + 1;
	ring->seen = events;
	return ring->quiet == 4 || ring->rounds == 64;
}

static void close_ring(struct session *session, struct ring_file *ring)
{
	ring->over = true;
	ring_read_counters(ring);
	for (size_t i = session->people.running.count; i-- > 0;)
		if (session->people.running.at[i]->ring == ring)
			process_close(&session->people, &session->output,
				      session->people.running.at[i]);
	ring->bad_chunks += spill_left(session->rings.spill, ring);
	if (ring->busy[0] + ring->busy[1])
		for (uint32_t i = 0; i < ring->chunks.count; i++) {
			unsigned phase = SHINY_CHUNK_PHASE(
				__atomic_load_n(&ring->chunks.states[i], __ATOMIC_RELAXED));

			if (!ring->owners[i] && phase != SHINY_CHUNK_FREE &&
			    phase != SHINY_CHUNK_ABSENT)
				ring->bad_chunks++;
		}
	for (size_t i = session->rings.streams.count; i-- > 0;)
		if (session->rings.streams.at[i]->ring == ring) /* only a lying ring gets here */
			drain_give_up(&session->rings, &session->output, i);
}

bool ring_end_check(struct session *session, struct directory *dir)
{
	bool some = false;

	for (size_t i = 0; i < session->rings.present.count; i++) {
		struct ring_file *ring = session->rings.present.at[i];

		if (ring->over || (!ring->ending && ring_held(ring)))
			continue;
		ring->ending = true;
		process_scan(session, ring);
		notices_read(session, ring);
		for (size_t n = 0; n < session->people.running.count; n++)
			if (session->people.running.at[n]->ring == ring)
				process_read_counters(session->people.running.at[n]);
		stream_reap(ring, NULL); /* includes streams that a scan has just found */
		if (is_drained(session, ring))
			close_ring(session, ring);
		else
			some = true;
		/* its last records are later than the last look, the limit of rounds */
		dir->scanned = 0;
	}
	return some;
}
