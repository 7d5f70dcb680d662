/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk.c: what happens at a chunk's end, which is once in some four thousand events.
 *
 * The full chunk is sealed first, so that the sidecar can have it, then a free one is claimed. When there is none, what counts is
 * whether somebody is emptying the arena: a sidecar whose last beat is younger than two seconds is worth waiting for, up to a second;
 * without one (it was never started, it was killed) waiting would only stop the program. A wait that failed is not repeated until a
 * chunk was had again, so a stuck sidecar costs each thread one second and not one for each event.
 */
#include "chunk.h"

#include "clock.h"
#include "env.h"
#include "sys.h"

enum {
	SPINS = 2000,             /* pauses before the first sleep: about 50 µs */
	FIRST_SLEEP = 50 * 1000,  /* ns; doubles up to: */
	LONGEST_SLEEP = 5 * 1000 * 1000,
	PATIENCE = 1000 * 1000 * 1000,
	RETRY = 64,               /* events between two scans of a full arena */
};
static const uint64_t beat_age = UINT64_C(2000000000); /* ns */

void si_chunk_seal(struct si_writer *w)
{
	if (w->state)
		shiny_chunk_seal(w->state, w->slot, w->sequence - 1); /* [seal] */
	w->state = NULL;
	w->next = w->end = NULL;
	w->defined = 0;
}

/* Ticks of a nanosecond span, from the pair in the header and now: good to a per cent after a millisecond, which is enough here. */
static uint64_t ticks_of(uint64_t ns)
{
	const struct shiny_header *h = si_arena.header;
	uint64_t span = si_clock_ns(CLOCK_BOOTTIME) - h->start_boottime, ticks = si_ticks() - h->start_ticks;

	if (si_clock == SHINY_CLOCK_MONOTONIC)
		return ns;
	return span ? (uint64_t)((double)ns * (double)ticks / (double)span) : 0;
}

static bool sidecar_beats(void)
{
	uint64_t beat = __atomic_load_n(&si_arena.header->collector_beat, __ATOMIC_RELAXED); /* [ctl] */

	/* one that is still starting has not beaten yet: it counts from the arena's birth */
	if (beat == 0 && si_arena.served)
		beat = si_arena.header->start_ticks;
	/* signed: the beat may be younger than our own look at the clock, which the processor moves ahead of the load */
	return beat && (int64_t)(si_ticks() - beat) < (int64_t)ticks_of(beat_age);
}

static int32_t claim(struct si_writer *w)
{
	return shiny_chunk_claim(si_arena.header, si_arena.chunk_count, si_arena.states, w->slot, w->sequence); /* [claim] */
}

static int32_t wait_for_chunk(struct si_writer *w)
{
	uint64_t until, sleep = FIRST_SLEEP;
	int32_t index = -1;

	if (si_env.on_full != 0 || w->impatient || !sidecar_beats())
		return -1;
	si_count(SHINY_COUNT_WAITED_FULL);
	until = si_clock_ns(CLOCK_MONOTONIC) + PATIENCE;
	for (unsigned n = 0; n < SPINS && index < 0; n++) {
		__builtin_ia32_pause();
		if (n % 100 == 99)
			index = claim(w);
	}
	while (index < 0 && si_clock_ns(CLOCK_MONOTONIC) < until && sidecar_beats()) {
		si_sys_sleep(sleep);
		if (sleep < LONGEST_SLEEP)
			sleep *= 2;
		index = claim(w);
	}
	return index;
}

bool si_chunk_more(struct si_writer *w, uint32_t records, uint64_t now)
{
	struct shiny_chunk *chunk;
	int32_t index = -1;

	if (records > SHINY_CHUNK_RECORDS - 2)
		return false;
	si_chunk_seal(w);
	if (w->lost % RETRY == 0)
		index = claim(w);
	if (index < 0)
		index = wait_for_chunk(w);
	if (index < 0) {
		w->impatient = 1;
		return false;
	}
	chunk = &si_arena.chunks[index];
	chunk->base = now;
	chunk->thread_slot = w->slot;
	chunk->thread_generation = w->generation;
	chunk->process_slot = (uint32_t)si_process.slot;
	chunk->process_generation = si_process.generation;
	w->index = (uint32_t)index;
	w->state = &si_arena.states[index];
	w->sequence++;
	w->base = now;
	w->next = chunk->records;
	w->end = chunk->records + SHINY_CHUNK_RECORDS;
	w->impatient = 0;
	if (w->lost) {
		shiny_publish(w->next, w->lost << SHINY_ADDRESS_SHIFT, shiny_w1(0, SHINY_COUNT_DROPPED_FULL, 0, SHINY_REC_LOSS)); /* [pub] */
		w->next++;
		w->lost = 0;
		si_writer_salt(w); /* a definition may be among what was lost */
	}
	return true;
}

void si_lose(struct si_writer *w)
{
	w->lost++;
	si_count(SHINY_COUNT_DROPPED_FULL);
}

uint64_t si_dt_slow(struct si_writer *w, uint64_t now)
{
	if (now < w->base) {
		si_count(SHINY_COUNT_CLOCK_WENT_BACK);
		return 0;
	}
	si_time(w, now);
	return 0;
}
