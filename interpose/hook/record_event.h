/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_event.h: the functions by which hooks report events: the only interface between the hooks
 * (hooks.c, partition_alloc.c) and the engine (thread.c, chunk.c, stack.c, nursery.c, …).
 *
 * Runs:      inside.
 * Signals:   safe: a handler that interrupts a record being written gets a stream of its own.
 * Allocates: nothing.
 * Threads:   any.
 *
 * `fp` is the hook's own __builtin_frame_address(0): fp[1] is the return address into the caller,
 * fp[0] the caller's frame pointer, if it keeps one. Every function saves and restores errno where
 * it could touch it, and does nothing while recording is off or the engine is not attached.
 */
#ifndef SI_RECORD_EVENT_H
#define SI_RECORD_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

#include "../core/base.h"
#include "../core/ring_map.h"
#include "../record/nursery.h"
#include "../record/process.h"
#include "../record/sample.h"
#include "../record/writer.h"

/*
 * True if events are recorded. With recording off, this test is all that an allocator's hooks do.
 *
 * The hooks stay in place then. Calls could go straight to the real functions only if addresses
 * were changed at run time: most are read-only (RELRO), so it takes mprotect, which sandboxes
 * refuse; a direct caller would not notice that recording is on again; and blocks freed meanwhile
 * would stay in the nursery, to be read later.
 */
static inline bool si_event_wanted(void)
{
	/* [ctl] */
	return si_alive_for_event() &&
	       __atomic_load_n(&si_ring.header->recording, __ATOMIC_RELAXED);
}

/* Records an allocation. Call it after the real function returned non-NULL. `size`: bytes, as
 * requested. */
void si_event_alloc_now(const uintptr_t *fp, void *block, size_t size, enum shiny_api api);
static inline void si_event_alloc(const uintptr_t *fp, void *block, size_t size,
				  enum shiny_api api)
{
	if (si_sample_birth(block, size, api) && si_event_wanted())
		si_event_alloc_now(fp, block, size, api);
}

/* Does the same for a block that may be an object of a run time, which keeps its type in it
 * (nursery.h): no other thread frees it. */
void si_event_alloc_object(const uintptr_t *fp, void *block, size_t size, enum shiny_api api);

/*
 * Records a block whose allocator was told its type: `type` is text in a module's memory, or NULL.
 * The block is never read, and si_event_free of it always returns true.
 */
void si_event_alloc_named(const uintptr_t *fp, void *block, size_t size, enum shiny_api api,
			  const char *type);

/*
 * Records a free. Call it before the real function; `block` is not NULL. `claimed` is sized
 * delete's argument, or 0. True: the caller frees the block. False: another thread is reading the
 * block's vptr, and will call `release(block)` itself when it has finished; the caller must not
 * touch the block again.
 */
bool si_event_free_now(const uintptr_t *fp, void *block, size_t claimed, enum shiny_api api,
		       si_release_fn *release, bool wanted);
static inline bool si_event_free(const uintptr_t *fp, void *block, size_t claimed,
				 enum shiny_api api, si_release_fn *release)
{
	bool wanted;

	if (!si_sample_end(block, api))
		return true;
	wanted = si_event_wanted();
	/* a block that entered the nursery before recording was switched off must be removed */
	return (!wanted && !si_nursery_is_used()) ||
	       si_event_free_now(fp, block, claimed, api, release, wanted);
}

/*
 * Records realloc of a live block to `size` bytes, in two halves around the real call. Begin
 * returns false if the block must not be passed to the real realloc, because it is being read and
 * cannot be waited for: the caller then allocates, copies, and frees (through si_event_free's
 * rules). `api`: that of the block's heap, SHINY_API_REALLOC of malloc's.
 */
bool si_event_realloc_begin(const uintptr_t *fp, void *block, size_t size, enum shiny_api api);
void si_event_realloc_done(const uintptr_t *fp, void *block, size_t size, enum shiny_api api);
void si_event_realloc_failed(const uintptr_t *fp);

/* Records the allocation of a garbage-collected object of kind `index`, or the start of its
 * destructor. */
void si_event_object_now(const uintptr_t *fp, void *object, size_t size, uint32_t index);
static inline void si_event_object(const uintptr_t *fp, void *object, size_t size, uint32_t index)
{
	if (si_sample_birth(object, size, SHINY_API_COLLECTED) && si_event_wanted())
		si_event_object_now(fp, object, size, index);
}
void si_event_finalized(const uintptr_t *fp, void *object);
/* Records that the sweeper is about to reuse this memory: the objects in it are dead. */
void si_event_swept(const uintptr_t *fp, void *address, size_t bytes);
/* Records that an object was moved. */
void si_event_moved(const uintptr_t *fp, void *from, void *to);
/* Records that an object was resized in place, to `size` bytes. In a sample it keeps the size by
 * which it was drawn. */
void si_event_resized(const uintptr_t *fp, void *object, size_t size);
/* Records that every block of `api` is about to end at once. */
void si_event_dropped(const uintptr_t *fp, enum shiny_api api);
/* Defines kinds for this process and its children; may be called again, for other kinds. */
void si_event_object_kinds(const uintptr_t *fp, const struct shiny_object_kinds *kinds);

/* Records the entry of a constructor or a destructor of class `index` for `object`. */
void si_event_constructor(const uintptr_t *fp, void *object, uint32_t index, bool destroys);
/* Defines a class's index for this process and its children; `name` has class->name_bytes bytes. */
void si_event_class(const uintptr_t *fp, const struct shiny_class *class, const char *name);

/* Defines what a run time calls a type, for this process and its children; a name beyond
 * SHINY_TYPE_NAME_MAX bytes is cut. */
void si_event_type_name(const uintptr_t *fp, uint64_t key, enum shiny_run_time run_time,
			const char *name);
/* Records that a run time has made the object, of the type with this key, in a block that was
 * recorded. */
void si_event_typed(const uintptr_t *fp, void *object, uint64_t key);
/* Records that the object, in the block that was recorded last, has the type that `name` calls so:
 * text in a module's memory. */
void si_event_named(const uintptr_t *fp, void *object, const char *name);
/* Returns where the thread's next record goes: another place after each record. */
static inline const struct shiny_record *si_event_place(void)
{
	return si_tls.writer ? si_tls.writer->next : NULL;
}

/* Records memory that an engine took from malloc; malloc's free may get it when the engine is not
 * running. */
void si_event_engine_memory(const uintptr_t *fp, void *memory);

/* Records a mapping call that returned successfully. */
void si_event_map(const uintptr_t *fp, enum shiny_map_call call, const struct shiny_map *map);

/* Looks at the loaded modules again; called before and after dlclose. */
void si_event_modules_changed(void);
/*
 * Announces a dlopen. Nothing is called after it: glibc looks at dlopen's return address to find
 * the caller's RUNPATH and namespace, so the hook must tail-jump (hooks_thread.c). It raises a flag
 * that stays up; while it is up, a frame in no known module (on a stack-cache miss) makes the
 * engine check dl_iterate_phdr's dlpi_adds and scan again.
 */
void si_event_modules_changing(void);

/* The data that a thread's creator passes to it. `stack_bytes` as in its attributes, 0: unknown.
 * The new thread calls si_event_thread_start first of all. */
struct si_thread_birth {
	uint32_t creator; /* from si_event_thread_creating() on the creating thread */
	uint32_t tag;     /* from si_tag_now() there */
	size_t stack_bytes;
};
uint32_t si_event_thread_creating(void);
void si_event_thread_start(const uintptr_t *fp, const struct si_thread_birth *birth);

/* Records a mark of the program's. */
void si_event_mark(const uintptr_t *fp, const char *name);

/* Called when the process's destructors run. */
void si_event_exiting(void);
/* Called when the process ends without destructors (_exit, _Exit, quick_exit). */
void si_event_exits(int status);
/* Called in a child that was just forked. */
void si_event_forked_child(void);

#endif
