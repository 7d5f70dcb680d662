/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk.h: appends records to a stream: first room, then words. ring.h's [pub] is the only store
 * that the sidecar waits for.
 *
 * Runs: inside, between si_enter and si_leave. Signals: safe. Allocates: nothing; claims chunks of
 * the ring; sleeps only where the ring is full and a sidecar is
 *            at work (wait.h).
 * Threads: the stream's own.
 */
#ifndef SI_CHUNK_H
#define SI_CHUNK_H

#include "writer.h"

/* Makes room for `records` by sealing this chunk and claiming another; false: there is none. */
SI_COLD bool si_chunk_more(struct si_writer *w, uint32_t records, uint64_t now);
/* Counts an event that could not be written; a LOSS record reports it when there is room again. */
SI_COLD void si_lose(struct si_writer *w);
void si_chunk_seal(struct si_writer *w);

/* Returns the time's distance from the base after a pause longer than dt holds, or a clock that
 * went back. */
SI_COLD uint64_t si_dt_slow(struct si_writer *w, uint64_t now);

static inline bool si_kind_is_run(unsigned kind)
{
#define SI_IS_EVENT 0
#define SI_IS_WORD  0
#define SI_IS_RUN   1
	static const uint8_t runs[SHINY_REC_KINDS] = {
#define SHINY_RECORD(name, layout, text) [SHINY_REC_##name] = SI_IS_##layout,
#include <shiny/wire/record.def>
#undef SHINY_RECORD
	};
	return kind < SHINY_REC_KINDS && runs[kind];
}

/* Makes room for `records`, and for a TIME and one more before them; false: there is none. */
SI_HOT bool si_room(struct si_writer *w, uint32_t records, uint64_t now)
{
	return SI_LIKELY((size_t)(w->end - w->next) >= records + 2) ||
	       si_chunk_more(w, records + 2, now);
}

/* Writes a new time base. The caller has made room. */
static inline void si_time(struct si_writer *w, uint64_t now)
{
	shiny_publish(w->next, now, shiny_w1(0, 0, 0, SHINY_REC_TIME)); /* [pub] */
	w->next++;
	w->base = w->last = now;
}

/* Returns the time's distance from the base. The caller has made room. */
SI_HOT uint64_t si_dt(struct si_writer *w, uint64_t now)
{
	uint64_t dt = now - w->base;

	w->last = now;
	return SI_LIKELY(dt < SHINY_DT_LIMIT) ? dt : si_dt_slow(w, now);
}

/* Returns the `when` of a VPTR that has a time of its own. The caller has made room. */
static inline uint64_t si_when(struct si_writer *w, uint64_t now)
{
	if (SI_UNLIKELY(now < w->base || now - w->base >= SHINY_WHEN_LIMIT - 1))
		si_time(w, now);
	w->last = now;
	return now - w->base + 1;
}

/* Begins a run. Write the payload through the returned pointer, then call si_run_publish. NULL:
 * there is no room. */
static inline struct shiny_record *si_run(struct si_writer *w, uint32_t payload, uint64_t now)
{
	if (!si_room(w, payload + 1, now))
		return NULL;
	if (SI_UNLIKELY(now - w->base >= SHINY_DT_LIMIT))
		si_dt_slow(w, now); /* writes its TIME before the run's place is fixed */
	return w->next + 1;
}

static inline void si_run_publish(struct si_writer *w, unsigned kind, unsigned api, uint64_t aux,
				  uint32_t stack, uint32_t payload, uint64_t now)
{
	uint64_t dt = now > w->base ? now - w->base : 0;

	w->last = now;
	shiny_publish(w->next, shiny_w0(aux, stack), shiny_w1(dt, payload, api, kind));
	w->next += payload + 1;
}

static inline void si_write_wide(struct si_writer *w, unsigned kind, unsigned api,
				 uintptr_t address, uint64_t size, uint32_t stack, uint64_t now)
{
	struct shiny_record *payload = si_run(w, 1, now);

	if (!payload) {
		si_lose(w);
		return;
	}
	payload->w0 = address;
	payload->w1 = size;
	si_run_publish(w, kind, api, 0, stack, 1, now);
}

/* Writes an event, in 16 bytes or in its wide form. */
SI_HOT void si_write_event(struct si_writer *w, unsigned kind, unsigned wide_kind, unsigned api,
			   uintptr_t address, uint64_t size, uint32_t stack, uint64_t now)
{
	if (SI_LIKELY((address & ((1u << SHINY_GRANULE_SHIFT) - 1)) == 0 && address >> 47 == 0 &&
		      size < SHINY_SIZE_LIMIT)) {
		uint64_t dt;

		if (!si_room(w, 1, now)) {
			si_lose(w);
			return;
		}
		dt = si_dt(w, now);
		shiny_publish(w->next, shiny_w0(address >> SHINY_GRANULE_SHIFT, stack),
			      shiny_w1(dt, size, api, kind));
		w->next++;
	} else {
		si_write_wide(w, wide_kind, api, address, size, stack, now);
	}
}

/* Writes the OBJECT record of an object of kind `index`. */
static inline void si_write_object(struct si_writer *w, uintptr_t address, uint64_t size,
				   uint32_t index, uint32_t stack, uint64_t now)
{
	if (SI_LIKELY(size >> SHINY_OBJECT_SIZE_BITS == 0 &&
		      index >> SHINY_OBJECT_INDEX_BITS == 0 && address >> 47 == 0)) {
		uint64_t dt;

		if (!si_room(w, 1, now)) {
			si_lose(w);
			return;
		}
		dt = si_dt(w, now);
		if (SI_UNLIKELY(dt >= SHINY_OBJECT_DT_LIMIT)) {
			si_time(w, now);
			dt = 0;
		}
		shiny_publish(w->next, shiny_w0(address >> SHINY_GRANULE_SHIFT, stack),
			      shiny_object_w1(dt, index, size));
		w->next++;
	} else {
		si_write_wide(w, SHINY_REC_OBJECT_WIDE, 0, address,
			      size | (uint64_t)index << SHINY_OBJECT_WIDE_SHIFT, stack, now);
	}
}

#endif
