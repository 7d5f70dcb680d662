/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_event.c: makes records of the events that hooks report. This is the hot path of the whole
 * tool; everything rare is a call out of it.
 *
 * The order of steps is part of the format:
 *
 *   allocation  Its clock is read after the real call, and after the nursery's entry has been read,
 *               whose block was born earlier.
 *   free        Its clock is read before the real call, and after the block was taken out of the
 *               nursery, where every reading of it is earlier.
 *
 * So a VPTR record has the time of the record before it in its stream, the event that pushed the
 * block out, or one of its own where that would be wrong (a free, a sweep).
 */
#include "record_event.h"

#include <errno.h>

#include "../core/ring_map.h"
#include "../record/chunk.h"
#include "../core/clock.h"
#include "../core/env.h"
#include "../unwind/modules.h"
#include "../record/nursery.h"
#include "../core/settings.h"
#include "../unwind/stack.h"
#include "../core/sys.h"
#include "../record/tag.h"
#include "../record/thread.h"
#include "../record/watched_slots.h"
#include "../record/snapshot_moment.h"
#include "../record/tid.h"

enum { DESCRIPTOR_MOST = 4096 }; /* glibc's has 2,304 bytes, at the top of the stack's mapping */

/* Reads the nursery, one entry at a time, so that a handler's events do not wait for the sweep, and
 * each orphan is released at once. */
static SI_COLD void sweep(const uintptr_t *fp, unsigned reading)
{
	for (uint32_t slot = 0; slot < SI_NURSERY; slot++) {
		struct si_writer *w;

		if (!si_nursery_has(slot))
			continue;
		w = si_enter(fp);
		if (!w)
			return;
		si_nursery_read(w, slot, reading);
		si_leave(w);
	}
}

static inline void look_for_flush(const uintptr_t *fp)
{
	uint32_t asked = __atomic_load_n(&si_ring.header->flush, __ATOMIC_RELAXED); /* [ctl] */

	if (SI_UNLIKELY(asked != __atomic_load_n(&si_self->flush, __ATOMIC_RELAXED)) &&
	    __atomic_exchange_n(&si_self->flush, asked, __ATOMIC_RELAXED) != asked)
		sweep(fp, SHINY_VPTR_FLUSH);
}

/* `object`: the block may be an object of a run time. */
static inline __attribute__((always_inline)) void
alloc_now(const uintptr_t *fp, void *block, size_t size, enum shiny_api api, bool object)
{
	struct si_writer *w = si_enter_any(fp);
	uint32_t slot, id;
	uint64_t old, now;

	if (!w)
		return;
	slot = si_nursery_slot(block);
	old = __atomic_load_n(&si_nursery[slot], __ATOMIC_ACQUIRE);
	si_nursery_will_push_out(old);
	now = si_ticks();
	id = si_stack_id(w, fp, si_settings.depth, now);
	si_write_event(w, SHINY_REC_ALLOC, SHINY_REC_ALLOC_WIDE, api, (uintptr_t)block, size, id,
		       now);
	if (si_settings.types && si_nursery_takes(block, size))
		si_nursery_push(w, slot, old,
				si_nursery_entry(block, size, now) |
					(object ? si_nursery_object(size) : 0),
				now);
	si_leave(w);
	look_for_flush(fp);
}

void si_event_alloc_now(const uintptr_t *fp, void *block, size_t size, enum shiny_api api)
{
	alloc_now(fp, block, size, api, false);
}

void si_event_alloc_object(const uintptr_t *fp, void *block, size_t size, enum shiny_api api)
{
	if (si_sample_birth(block, size, api) && si_event_wanted())
		alloc_now(fp, block, size, api, true);
}

/* Writes a record with an address and a word of 48 bits, and without a time. */
static void write_word(struct si_writer *w, unsigned kind, void *address, uint64_t word,
		       uint64_t now)
{
	if (!si_room(w, 1, now))
		return;
	shiny_publish(w->next, shiny_w0((uintptr_t)address >> SHINY_GRANULE_SHIFT, 0),
		      word << SHINY_NAME_SHIFT | kind); /* [pub] */
	w->next++;
}

void si_event_alloc_named(const uintptr_t *fp, void *block, size_t size, enum shiny_api api,
			  const char *type)
{
	struct si_writer *w = si_sample_birth(block, size, api) ? si_enter(fp) : NULL;
	uint64_t now, lost;

	if (!w)
		return;
	now = si_ticks();
	lost = w->lost;
	si_write_event(w, SHINY_REC_ALLOC, SHINY_REC_ALLOC_WIDE, api, (uintptr_t)block, size,
		       si_stack_id(w, fp, si_settings.depth, now), now);
	if (type && w->lost == lost)
		write_word(w, SHINY_REC_NAMED, block, (uintptr_t)type, now);
	si_leave(w);
	look_for_flush(fp);
}

bool si_event_free_now(const uintptr_t *fp, void *block, size_t claimed, enum shiny_api api,
		       si_release_fn *release, bool wanted)
{
	struct si_writer *w = wanted ? si_enter_any(fp) : NULL;
	uint64_t held, now;
	uint32_t id;
	bool mine;

	if (w && si_settings.free_depth == 1)
		si_stack_fetch(w, fp);
	/* always: the nursery must be told even with recording off, no slot, or a dropped event */
	mine = si_nursery_take(block, release, &held, &now);
	if (!w)
		return mine;
	if (SI_LIKELY(mine))
		now = si_ticks();
	if (held)
		si_vptr_write(w, held, SHINY_VPTR_FREE, now);
	id = si_stack_id(w, fp, si_settings.free_depth, now);
	si_write_event(w, SHINY_REC_FREE, SHINY_REC_FREE_WIDE, api, (uintptr_t)block, claimed, id,
		       now);
	si_leave(w);
	look_for_flush(fp);
	return mine;
}

/* Writes the end of a block that realloc takes out of the sample. */
static void write_end(struct si_writer *w, void *block, enum shiny_api api, uint32_t stack,
		      uint64_t now)
{
	si_write_event(w, SHINY_REC_FREE, SHINY_REC_FREE_WIDE, api, (uintptr_t)block, 0, stack,
		       now);
}

bool si_event_realloc_begin(const uintptr_t *fp, void *block, size_t size, enum shiny_api api)
{
	enum si_sample_move move = si_sample_move(block, size, api);
	struct si_writer *w;
	uint64_t now, held;
	uint32_t id;
	bool mine;

	if (!(move & SI_MOVE_ENDS))
		return true; /* the nursery has recorded blocks only */
	w = si_enter(fp);
	mine = si_nursery_take_for_realloc(si_tls.writer, block, &held);
	if (!mine)
		si_sample_not_moved(); /* it is freed as other blocks are */
	if (!w)
		return mine;
	w->realloc_open = 0;
	if (mine) {
		uint64_t lost = w->lost;

		now = si_ticks();
		/* what is known of a block stays true when it is moved, and a run time resizes
		 * objects that have their type already */
		if (SI_NURSERY_OBJECT(held))
			si_vptr_write(w, held, SHINY_VPTR_FLUSH, now);
		id = si_stack_id(w, fp, si_settings.free_depth, now);
		if (move == SI_MOVE_STAYS)
			si_write_event(w, SHINY_REC_REALLOC_BEGIN, SHINY_REC_REALLOC_BEGIN_WIDE,
				       SHINY_API_REALLOC, (uintptr_t)block, 0, id, now);
		else
			write_end(w, block, api, id, now);
		w->realloc_open = move == SI_MOVE_STAYS && w->lost <= lost;
	}
	si_leave(w);
	return mine;
}

/* Enters the stream in which this thread has begun a realloc; if there is none, the ordinary one,
 * if recording is on. */
static struct si_writer *enter_after_realloc(const uintptr_t *fp, bool *open)
{
	struct si_writer *w = si_tls.writer;

	*open = false;
	if (!si_alive_for_event())
		return NULL;
	if (!w || w->busy || !w->realloc_open) {
		w = si_enter(fp);
		if (!w || !w->realloc_open)
			return w;
	} else {
		w = si_enter_any(fp);
		if (!w)
			return NULL;
	}
	*open = w->realloc_open;
	w->realloc_open = 0;
	return w;
}

void si_event_realloc_done(const uintptr_t *fp, void *block, size_t size, enum shiny_api api)
{
	bool open;
	struct si_writer *w;
	uint64_t now;
	uint32_t id;

	if (!(si_sample_moved(block, size) & SI_MOVE_BEGINS))
		return;
	w = enter_after_realloc(fp, &open);
	if (!w)
		return;
	now = si_ticks();
	id = si_stack_id(w, fp, si_settings.depth, now);
	/* if the begin was not written (recording was off, the ring full), the block is simply
	 * new */
	if (open)
		si_write_event(w, SHINY_REC_REALLOC_DONE, SHINY_REC_REALLOC_DONE_WIDE,
			       api, (uintptr_t)block, size, id, now);
	else
		si_write_event(w, SHINY_REC_ALLOC, SHINY_REC_ALLOC_WIDE, api, (uintptr_t)block,
			       size, id, now);
	si_leave(w);
}

void si_event_realloc_failed(const uintptr_t *fp)
{
	bool open;
	struct si_writer *w;

	si_sample_not_moved();
	w = enter_after_realloc(fp, &open);
	if (!w)
		return;
	if (open)
		si_write_event(w, SHINY_REC_REALLOC_FAILED, SHINY_REC_REALLOC_FAILED,
			       SHINY_API_REALLOC, 0, 0, 0, si_ticks());
	si_leave(w);
}

void si_event_object_now(const uintptr_t *fp, void *object, size_t size, uint32_t index)
{
	struct si_writer *w = si_enter_any(fp);
	uint64_t now;

	if (!w)
		return;
	now = si_ticks();
	si_write_object(w, (uintptr_t)object, size, index,
			si_stack_id(w, fp, si_settings.depth, now), now);
	si_leave(w);
	look_for_flush(fp);
}

void si_event_finalized(const uintptr_t *fp, void *object)
{
	struct si_writer *w = si_sample_end_object(object) ? si_enter(fp) : NULL;
	uint64_t now;

	if (!w)
		return;
	now = si_ticks();
	si_write_event(w, SHINY_REC_FINALIZED, SHINY_REC_FINALIZED, SHINY_API_COLLECTED,
		       (uintptr_t)object, 0, si_stack_id(w, fp, si_settings.free_depth, now), now);
	si_leave(w);
}

void si_event_swept(const uintptr_t *fp, void *address, size_t bytes)
{
	struct si_writer *w = si_sample_sweep(address, bytes) ? si_enter(fp) : NULL;

	if (!w)
		return;
	si_write_event(w, SHINY_REC_SWEPT, SHINY_REC_SWEPT_WIDE, SHINY_API_COLLECTED,
		       (uintptr_t)address, bytes, 0, si_ticks());
	si_leave(w);
}

void si_event_moved(const uintptr_t *fp, void *from, void *to)
{
	struct si_writer *w = si_sample_move_object(from, to) ? si_enter(fp) : NULL;

	if (!w)
		return;
	si_write_wide(w, SHINY_REC_MOVED, SHINY_API_COLLECTED, (uintptr_t)from, (uintptr_t)to, 0,
		      si_ticks());
	si_leave(w);
}

void si_event_resized(const uintptr_t *fp, void *object, size_t size)
{
	struct si_writer *w = si_sample_mean ? NULL : si_enter(fp);

	if (!w)
		return;
	si_write_event(w, SHINY_REC_RESIZED, SHINY_REC_RESIZED_WIDE, SHINY_API_COLLECTED,
		       (uintptr_t)object, size, 0, si_ticks());
	si_leave(w);
}

void si_event_dropped(const uintptr_t *fp, enum shiny_api api)
{
	struct si_writer *w = si_enter_any(fp);
	uint64_t now;

	si_sample_drop(api);
	if (!w)
		return;
	now = si_ticks();
	si_write_event(w, SHINY_REC_DROPPED, SHINY_REC_DROPPED, api, 0, 0,
		       si_stack_id(w, fp, si_settings.free_depth, now), now);
	si_leave(w);
}

/* Writes a rare run: a header, then its payload. */
static void write_run(struct si_writer *w, const uintptr_t *fp, unsigned kind, unsigned api,
		      const void *payload, uint32_t records)
{
	struct shiny_record *at;
	uint64_t now;
	uint32_t id;

	if (!w)
		return;
	now = si_ticks();
	id = si_stack_id(w, fp, si_settings.depth, now);
	at = si_run(w, records, now);
	if (at) {
		__builtin_memcpy(at, payload, records * sizeof(*at));
		si_run_publish(w, kind, api, 0, id, records, now);
	} else {
		si_lose(w);
	}
	si_leave(w);
}

void si_event_object_kinds(const uintptr_t *fp, const struct shiny_object_kinds *kinds)
{
	/* always, even in boot: the indices must mean the same if recording is switched on later */
	write_run(si_enter_any(fp), fp, SHINY_REC_OBJECT_KINDS, 0, kinds,
		  sizeof(*kinds) / SHINY_RECORD_BYTES);
}

void si_event_constructor(const uintptr_t *fp, void *object, uint32_t index, bool destroys)
{
	struct si_writer *w = si_sample_has_object(object) ? si_enter(fp) : NULL;
	uint64_t now;

	if (!w)
		return;
	now = si_ticks();
	si_write_event(w, destroys ? SHINY_REC_DESTROYED : SHINY_REC_CONSTRUCTED,
		       destroys ? SHINY_REC_DESTROYED_WIDE : SHINY_REC_CONSTRUCTED_WIDE,
		       (uintptr_t)object > (uintptr_t)fp && (uintptr_t)object < si_tls.stack_high
			       ? SHINY_THIS_ON_STACK
			       : 0,
		       (uintptr_t)object, index,
		       si_stack_id(w, fp, destroys ? si_settings.free_depth : si_settings.depth,
				   now),
		       now);
	si_leave(w);
	look_for_flush(fp);
}

void si_event_class(const uintptr_t *fp, const struct shiny_class *class, const char *name)
{
	struct {
		struct shiny_class class;
		char name[SHINY_CLASS_NAME_MAX];
	} out = { .class = *class };
	uint32_t bytes =
		class->name_bytes < sizeof(out.name) ? class->name_bytes : sizeof(out.name);

	out.class.name_bytes = bytes;
	__builtin_memcpy(out.name, name, bytes);
	write_run(si_enter_any(fp), fp, SHINY_REC_CLASS, 0, &out,
		  (uint32_t)(sizeof(out.class) + bytes + SHINY_RECORD_BYTES - 1) /
			  SHINY_RECORD_BYTES);
}

void si_event_type_name(const uintptr_t *fp, uint64_t key, enum shiny_run_time run_time,
			const char *name)
{
	struct {
		struct shiny_type_name type;
		char name[SHINY_TYPE_NAME_MAX];
	} out = { .type = { .key = key, .run_time = run_time } };
	uint32_t bytes = 0;

	for (; bytes < sizeof(out.name) && name[bytes]; bytes++)
		out.name[bytes] = name[bytes];
	out.type.name_bytes = bytes;
	/* always: keys must mean the same if recording is switched on later */
	write_run(si_enter_any(fp), fp, SHINY_REC_TYPE_NAME, 0, &out,
		  (uint32_t)(sizeof(out.type) + bytes + SHINY_RECORD_BYTES - 1) /
			  SHINY_RECORD_BYTES);
}

void si_event_typed(const uintptr_t *fp, void *object, uint64_t key)
{
	struct si_writer *w =
		si_settings.types && si_sample_has_object(object) ? si_enter(fp) : NULL;

	if (!w)
		return;
	write_word(w, SHINY_REC_TYPED, object, key, si_ticks());
	si_leave(w);
}

void si_event_named(const uintptr_t *fp, void *object, const char *name)
{
	struct si_writer *w =
		si_settings.types && si_sample_has_object(object) ? si_enter(fp) : NULL;

	if (!w)
		return;
	write_word(w, SHINY_REC_NAMED, object, (uintptr_t)name, si_ticks());
	si_leave(w);
}

void si_event_engine_memory(const uintptr_t *fp, void *memory)
{
	struct si_writer *w = si_enter_any(fp);

	if (!w)
		return;
	si_write_event(w, SHINY_REC_ENGINE_MEMORY, SHINY_REC_ENGINE_MEMORY, SHINY_API_MALLOC,
		       (uintptr_t)memory, 0, 0, si_ticks());
	si_leave(w);
}

void si_event_map(const uintptr_t *fp, enum shiny_map_call call, const struct shiny_map *map)
{
	/* does not boot: an allocator maps its first pages under its lock, and booting may allocate
	 * (dlsym's misses do) */
	if (__atomic_load_n(&si_self->life, __ATOMIC_RELAXED) == SI_UNBOOTED)
		return;
	write_run(si_enter(fp), fp, SHINY_REC_MAP, call, map, sizeof(*map) / SHINY_RECORD_BYTES);
}

void si_event_mark(const uintptr_t *fp, const char *name)
{
	struct si_tag_payload out = { .tag.index = 0 };

	if (!si_alive_for_event() || !si_tag_name(name, &out))
		return;
	write_run(si_enter_any(fp), fp, SHINY_REC_MARK, 0, &out, si_tag_records(&out));
	si_snapshot_at_mark(name);
}

void si_event_modules_changed(void)
{
	int saved = errno;

	if (si_alive())
		si_modules_update(__builtin_frame_address(0), NULL);
	errno = saved;
}

void si_event_modules_changing(void)
{
	__atomic_store_n(&si_modules_suspect, 1, __ATOMIC_RELAXED);
}

uint32_t si_event_thread_creating(void)
{
	return si_alive() && si_tls.writer ? si_tls.writer->slot + 1 : 0;
}

void si_event_thread_start(const uintptr_t *fp, const struct si_thread_birth *birth)
{
	if (birth->stack_bytes) {
		/* above this frame, in the same mapping, lie libc's thread start and the thread's
		 * storage with its descriptor, to which fs:0 points */
		uintptr_t high = (uintptr_t)fp + 2 * sizeof(*fp), floor;

		__asm__("mov %%fs:0, %0" : "=r"(floor));
		floor += DESCRIPTOR_MOST - birth->stack_bytes;
		if (high > birth->stack_bytes)
			si_stack_is(high - birth->stack_bytes, high, floor);
	}
	si_tls.creator = birth->creator;
	si_tag_inherit(birth->tag);
	if (si_alive()) {
		/* a stream from the start, so that a process that waits for this thread's events
		 * sees that it exists */
		struct si_writer *w = si_enter_any(fp);

		if (w)
			si_leave(w);
	}
}

void si_event_exiting(void)
{
	/*
	 * A vfork child reads nothing: the memory belongs to its parent, which resumes. Before that
	 * is known, nothing of the thread's own may be touched, not even errno: Chromium's zygote
	 * chroots by a child with CLONE_VM and thread storage full of zeros, which calls _exit. No
	 * slot is taken here either: a process without events has no types to read.
	 */
	if (__atomic_load_n(&si_self->life, __ATOMIC_RELAXED) != SI_ALIVE || si_tid_is_guest())
		return;
	si_slots_check();
	if (si_settings.types)
		sweep(__builtin_frame_address(0), SHINY_VPTR_EXIT); /* makes no call that sets
		                                                     * errno */
}

void si_event_exits(int status)
{
	si_event_exiting();
	si_process_exits(status);
	si_snapshot_at_exit();
}

void si_event_forked_child(void)
{
	si_fork_told();
	si_alive();
}
