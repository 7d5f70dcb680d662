/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk.c: what happens at a chunk's end, which is once in some four thousand events.
 *
 * The full chunk is sealed first, so that the sidecar can have it, then a free one is claimed. When there is none, what counts is
 * whether somebody is emptying the arena: a sidecar whose last beat is younger than ten seconds is worth waiting for; without one (it
 * was never started, it was killed) waiting would only stop the program.
 *
 * It is waited for as long as it gets on: it beats, or a chunk changes hands, be it to another thread that was quicker. A machine with
 * more to do than processors makes a sidecar slow, not dead, and a slow one must lose nothing. Three seconds without either end the wait,
 * and ten seconds do in any case (a sidecar that beats and frees nothing is not one that we understand). A wait that failed is not
 * repeated by its thread until a chunk was had again, nor by another before something has moved: a sidecar that died or is stuck costs the
 * process three seconds, once, and not one for each thread or event.
 */
#include "chunk.h"

#include "clock.h"
#include "env.h"
#include "sys.h"
#include "tag.h"

enum {
	SPINS = 2000,             /* pauses before the first sleep: about 50 µs */
	FIRST_SLEEP = 50 * 1000,  /* ns; doubles up to: */
	LONGEST_SLEEP = 5 * 1000 * 1000,
	RETRY = 64,               /* events between two scans of a full arena */
};
static const uint64_t beat_age = UINT64_C(10000000000); /* ns; two were too few where others kept processors and disk busy */
static const uint64_t patience = UINT64_C(3000000000); /* ns without any progress */
static const uint64_t longest_wait = UINT64_C(10000000000); /* ns */

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

/*
 * A number that changes when the sidecar beats or frees a chunk. What counts of a chunk is whose it is and not its phase: a writer that
 * seals it has not moved anything for us.
 */
static uint64_t progress(void)
{
	uint64_t sum = __atomic_load_n(&si_arena.header->collector_beat, __ATOMIC_RELAXED); /* [ctl] */

	for (uint32_t i = 0; i < si_arena.chunk_count; i++)
		sum += (__atomic_load_n(&si_arena.states[i], __ATOMIC_RELAXED) >> 8) * (2 * (uint64_t)i + 1);
	return sum;
}

/* A sidecar that fails takes its beat back; one that has not beaten yet is still starting. */
static bool sidecar_gave_up(void)
{
	return __atomic_load_n(&si_arena.header->collector_beat, __ATOMIC_RELAXED) == 0 && !sidecar_beats(); /* [ctl] */
}

static uint64_t stood_still; /* progress() when a wait had failed */

static int32_t wait_for_chunk(struct si_writer *w)
{
	uint64_t start, now, moved, seen, sleep = FIRST_SLEEP;
	int32_t index = -1;

	if (si_env.on_full != 0 || w->impatient || !sidecar_beats())
		return -1;
	seen = progress();
	if (seen == __atomic_load_n(&stood_still, __ATOMIC_RELAXED))
		return -1;
	si_count(SHINY_COUNT_WAITED_FULL);
	start = now = moved = si_clock_ns(CLOCK_MONOTONIC);
	for (unsigned n = 0; n < SPINS && index < 0; n++) {
		__builtin_ia32_pause();
		if (n % 100 == 99)
			index = claim(w);
	}
	while (index < 0 && now - start < longest_wait && now - moved < patience && !sidecar_gave_up()) {
		uint64_t before = seen;

		si_sys_sleep(sleep);
		if (sleep < LONGEST_SLEEP)
			sleep *= 2;
		index = claim(w);
		now = si_clock_ns(CLOCK_MONOTONIC);
		seen = progress();
		if (seen != before)
			moved = now;
	}
	if (index < 0)
		__atomic_store_n(&stood_still, seen, __ATOMIC_RELAXED);
	return index;
}

bool si_chunk_more(struct si_writer *w, uint32_t records, uint64_t now)
{
	struct shiny_chunk *chunk;
	int32_t index = -1;

	if (records > SHINY_CHUNK_RECORDS - 3)
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
	w->tag = 0;
	si_tag_tell(w);
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
