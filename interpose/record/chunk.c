/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk.c: replaces a stream's full chunk, which happens once in some four thousand events.
 *
 * The full chunk is sealed first, so that the sidecar can drain it, then a free one is claimed; if
 * there is none, the thread waits for the sidecar (wait.c). After a wait that failed, a thread
 * waits again only once it has got a chunk.
 *
 * A stream's first chunks are small, so that thousands of threads that write little fit into the
 * ring; one that has filled a few of them gets large ones, and with the first of these a large
 * stack cache (thread.h). Either size replaces the other where that has run out, if the records
 * fit: a module with a long path does not fit a small one.
 */
#include "chunk.h"

#include "../core/ring_map.h"
#include "../core/clock.h"
#include "process.h"
#include "wait.h"

enum {
	RETRY = 64,               /* events between two scans of a full ring */
	SMALL_FIRST = 4,          /* small chunks of a stream: a thousand records */
	HEADROOM = 12,            /* records that may precede the event: LOSS, a tag's name, TAG,
	                           * TIME */
};

void si_chunk_seal(struct si_writer *w)
{
	/* may run twice, if a handler left by longjmp: by then another stream may own the chunk */
	if (w->state) {
		if (__atomic_load_n(w->state, __ATOMIC_RELAXED) ==
		    SHINY_CHUNK_STATE(SHINY_CHUNK_OPEN, w->slot, w->held))
			shiny_chunk_seal(w->state, w->slot, w->held); /* [seal] */
		w->sequence = w->held + 1;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
	w->state = NULL;
	w->next = w->end = NULL;
	w->defined = 0;
}

struct need {
	const struct si_writer *w;
	bool large, fits_small;
	int32_t index;
};

static bool claim(void *context)
{
	struct need *need = context;
	const struct si_writer *w = need->w;

	/* [claim] */
	need->index = shiny_chunk_claim(si_ring.header, &si_ring.chunks, need->large, w->slot,
					w->sequence);
	if (need->index < 0 && (!need->large || need->fits_small))
		need->index = shiny_chunk_claim(si_ring.header, &si_ring.chunks, !need->large,
						w->slot, w->sequence); /* [claim] */
	return need->index >= 0;
}

static bool wait_for_chunk(struct si_writer *w, struct need *need)
{
	bool waited, had = !w->impatient && si_wait_for(claim, need, &waited);

	if (!w->impatient && waited)
		si_count(SHINY_COUNT_WAITED_FULL);
	return had;
}

/*
 * Maps a chunk's pages. A write to a page that this process has not mapped yet maps that page
 * alone. A read also maps its neighbours for writing, 64 KiB of pages that were used or populated
 * before (Linux: fault_around_bytes): one fault for a chunk or two, not sixteen.
 */
static void map_chunk(const struct shiny_chunk *chunk, uint32_t room)
{
	__atomic_load_n(&chunk->base, __ATOMIC_RELAXED);
	__atomic_load_n(&chunk->records[room - 1].w1, __ATOMIC_RELAXED);
}

bool si_chunk_more(struct si_writer *w, uint32_t records, uint64_t now)
{
	struct shiny_chunk *chunk;
	struct need need = { .w = w,
			     .large = w->sequence >= SMALL_FIRST,
			     .fits_small = records <= SHINY_SMALL_RECORDS - HEADROOM };

	if (records > SHINY_CHUNK_RECORDS - HEADROOM)
		return false;
	need.large |= !need.fits_small;
	si_chunk_seal(w);
	if (!(w->lost % RETRY == 0 && claim(&need)) && !wait_for_chunk(w, &need)) {
		w->impatient = 1;
		return false;
	}
	chunk = shiny_chunk_at(&si_ring.chunks, (uint32_t)need.index);
	map_chunk(chunk, shiny_chunk_room(&si_ring.chunks, (uint32_t)need.index));
	chunk->base = now;
	chunk->thread_slot = w->slot;
	chunk->thread_generation = w->generation;
	chunk->process_slot = (uint32_t)si_process.slot;
	chunk->process_generation = si_process.generation;
	w->held = w->sequence;
	w->base = now;
	w->next = chunk->records;
	w->end = chunk->records + shiny_chunk_room(&si_ring.chunks, (uint32_t)need.index);
	/* last: a claim that a longjmp left before this is repeated, under the same number */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->state = &si_ring.chunks.states[need.index];
	w->impatient = 0;
	if (w->lost) {
		/* [pub] */
		shiny_publish(w->next, w->lost << SHINY_ADDRESS_SHIFT,
			      shiny_w1(0, SHINY_COUNT_DROPPED_FULL, 0, SHINY_REC_LOSS));
		w->next++;
		w->lost = 0;
		si_writer_salt(w); /* the lost records may have contained a definition */
	}
	if (w->sequence >= SMALL_FIRST && !w->large)
		si_writer_enlarge(w);
	w->pool = 0;
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
