/* SPDX-License-Identifier: Apache-2.0 */
/* record_pool.c: see record_pool.h. */
#include "record_pool.h"

#include "../core/clock.h"
#include "../core/settings.h"
#include "../record/chunk.h"
#include "../record/sample.h"
#include "../record/tag.h"
#include "../record/thread.h"
#include "../unwind/stack.h"
#include "readable.h"
#include "record_event.h"

/* A pool's record, an object's, wide, and a time base for each. */
enum { RECORDS = 5 };

/* Returns the address by which records name a pool: one that an event has room for. */
static uint64_t name_of(uint64_t pool)
{
	return pool << 17 >> 17 >> SHINY_GRANULE_SHIFT << SHINY_GRANULE_SHIFT;
}

/* Records a new object that is in the sample. */
static void begin(const uintptr_t *fp, uintptr_t pool, void *object, size_t size, unsigned api)
{
	struct si_writer *w = si_enter(fp);
	uint64_t name = name_of(pool), now;
	uint32_t id;

	if (!w)
		return;
	now = si_ticks();
	id = si_stack_id(w, fp, si_settings.depth, now);
	/* both in one chunk, as a new one begins with no pool */
	if (si_room(w, RECORDS, now) && w->pool != name) {
		w->pool = name;
		si_write_event(w, SHINY_REC_POOL, SHINY_REC_POOL, api, name, 0, 0, now);
	}
	si_write_event(w, SHINY_REC_ALLOC, SHINY_REC_ALLOC_WIDE, api, (uintptr_t)object, size, id,
		       now);
	si_leave(w);
}

void si_pool_alloc(const uintptr_t *fp, uintptr_t pool, void *object, size_t size, unsigned api)
{
	if (si_sample_birth(object, size, api))
		begin(fp, pool, object, size, api);
}

/* Records the end of an object that was in the sample. */
static void end(const uintptr_t *fp, void *object, unsigned api)
{
	struct si_writer *w = si_enter(fp);
	uint64_t now;

	if (!w)
		return;
	now = si_ticks();
	si_write_event(w, SHINY_REC_FREE, SHINY_REC_FREE_WIDE, api, (uintptr_t)object, 0,
		       si_stack_id(w, fp, si_settings.free_depth, now), now);
	si_leave(w);
}

void si_pool_free(const uintptr_t *fp, void *object, unsigned api)
{
	if (si_sample_end(object, api))
		end(fp, object, api);
}

struct si_writer *si_pool_move_begin(const uintptr_t *fp, void *object, size_t size, unsigned api)
{
	enum si_sample_move move = si_sample_move(object, size, api);
	struct si_writer *w = move == SI_MOVE_STAYS ? si_enter(fp) : NULL;
	uint64_t now, lost;

	if (move == SI_MOVE_ENDS)
		end(fp, object, api);
	if (!w)
		return NULL;
	now = si_ticks();
	lost = w->lost;
	si_write_event(w, SHINY_REC_REALLOC_BEGIN, SHINY_REC_REALLOC_BEGIN_WIDE, api,
		       (uintptr_t)object, 0, si_stack_id(w, fp, si_settings.free_depth, now), now);
	lost = w->lost - lost;
	si_leave(w);
	return lost ? NULL : w;
}

void si_pool_move_done(const uintptr_t *fp, struct si_writer *begun, void *object, size_t size,
		       unsigned api)
{
	struct si_writer *w;
	uint64_t now;

	if (!object)
		si_sample_not_moved();
	else if (si_sample_moved(object, size) & SI_MOVE_BEGINS && !begun)
		begin(fp, 0, object, size, api);
	w = begun ? si_enter_any(fp) : NULL;
	if (!w)
		return;
	now = si_ticks();
	if (!object)
		si_write_event(w, SHINY_REC_REALLOC_FAILED, SHINY_REC_REALLOC_FAILED, api, 0, 0, 0,
			       now);
	else
		si_write_event(w, w == begun ? SHINY_REC_REALLOC_DONE : SHINY_REC_ALLOC,
			       w == begun ? SHINY_REC_REALLOC_DONE_WIDE : SHINY_REC_ALLOC_WIDE, api,
			       (uintptr_t)object, size,
			       si_stack_id(w, fp, si_settings.depth, now), now);
	si_leave(w);
}

void si_pool_is(const uintptr_t *fp, const struct shiny_pool *pool, const char *name, unsigned api)
{
	struct si_tag_payload text = { .tag.index = 0 };
	struct {
		struct shiny_pool pool;
		char name[SHINY_TAG_NAME_MAX];
	} out = { .pool = *pool };
	struct si_writer *w = si_alive_for_event() ? si_enter_any(fp) : NULL;
	struct shiny_record *at;
	uint32_t records;
	uint64_t now;

	if (!w)
		return;
	if (name && si_readable_string(name, SHINY_TAG_NAME_MAX + 1) && si_tag_name(name, &text)) {
		out.pool.name_bytes = text.tag.name_bytes;
		__builtin_memcpy(out.name, text.name, sizeof(out.name));
	}
	out.pool.pool = name_of(pool->pool);
	out.pool.parent = name_of(pool->parent);
	records = (uint32_t)(sizeof(out.pool) + out.pool.name_bytes + SHINY_RECORD_BYTES - 1) /
		  SHINY_RECORD_BYTES;
	now = si_ticks();
	at = si_run(w, records, now);
	if (at) {
		__builtin_memcpy(at, &out, records * sizeof(*at));
		si_run_publish(w, SHINY_REC_POOL_NAME, api, 0, 0, records, now);
	} else {
		si_lose(w);
	}
	si_leave(w);
}

void si_pool_ends(const uintptr_t *fp, uintptr_t pool, unsigned what, unsigned api)
{
	struct si_writer *w = si_enter(fp);
	uint64_t now;

	if (!w)
		return;
	now = si_ticks();
	si_write_event(w, SHINY_REC_POOL_ENDS, SHINY_REC_POOL_ENDS, api, name_of(pool), what,
		       si_stack_id(w, fp, si_settings.free_depth, now), now);
	si_leave(w);
}
