/* SPDX-License-Identifier: Apache-2.0 */
/* inner_calls.c: see inner_calls.h. */
#define _GNU_SOURCE
#include "inner_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/rseq.h>

#include "record_event.h"

__thread const uintptr_t *si_outer;
__thread uintptr_t si_engine_took;

static bool same_module(const void *a, const void *b)
{
	struct dl_find_object of_a, of_b;

	return _dl_find_object((void *)(uintptr_t)a, &of_a) == 0 &&
	       _dl_find_object((void *)(uintptr_t)b, &of_b) == 0 &&
	       of_a.dlfo_link_map == of_b.dlfo_link_map;
}

/* True if the code at `pc` is the C library's or the dynamic loader's. */
static bool is_libc(const void *pc)
{
	return same_module(pc, (const void *)__errno_location) ||
	       same_module(pc, &__rseq_offset); /* a function's name may be libc's, too */
}

bool si_nested_slow(const uintptr_t *fp)
{
	if (fp < si_outer)
		return !is_libc((const void *)fp[1]);
	si_outer = NULL;
	return false;
}

void si_inner_block(const uintptr_t *fp, void *block)
{
	if (si_engine_took > 1)
		si_event_engine_memory(fp, (void *)si_engine_took);
	if (si_engine_took)
		si_engine_took = (uintptr_t)block;
}

/* True unless the function is the C library's, or this library's: a guard, or a substitute for a
 * missing function. */
static bool needs_guard(const void *function)
{
	return function && !is_libc(function) && !same_module(function, (const void *)si_unguarded);
}

/* Stores the real function before any thread can reach the guard in front of it. */
#define GUARD_SLOT(id)                                                                    \
	if (!needs_guard((const void *)(uintptr_t)*slot))                                 \
		return;                                                                   \
	__atomic_store_n(&real_##id, *slot, __ATOMIC_RELAXED);                            \
	__atomic_store_n(slot, guarded_##id, __ATOMIC_RELEASE)

#define GUARD(id, result, parameters, arguments)                      \
	static result(*real_##id) parameters;                         \
	static __attribute__((noinline)) result guarded_##id parameters \
	{                                                             \
		const uintptr_t *before = si_outer;                   \
		result given;                                         \
                                                                      \
		si_outer = __builtin_frame_address(0);                \
		given = real_##id arguments;                          \
		si_outer = before;                                    \
		return given;                                         \
	}                                                             \
	void si_guard_##id(result(**slot) parameters)                 \
	{                                                             \
		GUARD_SLOT(id);                                       \
	}
SI_GUARDED(GUARD)

static void (*real_free)(void *);
static __attribute__((noinline)) void guarded_free(void *block)
{
	const uintptr_t *before = si_outer;

	si_outer = __builtin_frame_address(0);
	real_free(block);
	si_outer = before;
}

void si_guard_free(void (**slot)(void *))
{
	GUARD_SLOT(free);
}

uintptr_t si_unguarded(uintptr_t function)
{
#define UNGUARD(id, result, parameters, arguments) \
	if (function == (uintptr_t)guarded_##id)   \
		return (uintptr_t)real_##id;
	SI_GUARDED(UNGUARD)
	UNGUARD(free, void, (void *block), (block))
	return function;
}
