/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner_calls.h: tells whether a call of a hook is the allocator's own, made while it serves a call
 * that is recorded.
 *
 * Runs:      inside.
 * Signals:   safe. Calls of a handler that interrupts the allocator count as the allocator's.
 *            Allocates: nothing.
 * Threads:   any.
 *
 * Allocators other than glibc's may call each other's public names: calloc malloc, posix_memalign
 * aligned_alloc, operator new malloc. Those calls come to our hooks. Only the outermost call is the
 * program's, so its frame is in si_outer while the real function runs, and a hook that runs below
 * it records no event. Calls of the C library there count as the program's all the same: it
 * allocates thread-specific data, for instance, and frees them later, when no allocator runs.
 *
 * An engine's own heap may take its memory from malloc, and give it back when no engine runs: when
 * a thread ends. So the sidecar learns of it (ENGINE_MEMORY), unless the engine only hands it on.
 *
 * glibc's functions never call the public names, so hooks call them directly, at no cost. Any other
 * library's functions get a guard in the table of real functions (next.h) that sets the mark.
 */
#ifndef SI_INNER_CALLS_H
#define SI_INNER_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/base.h"

/*
 * The frame of the call below which blocks are not recorded, or NULL. It is an address and not a
 * count: an exception or a longjmp that leaves that frame also leaves the stack below it, and the
 * next hook that runs above it clears the mark.
 */
SI_INTERNAL __thread const uintptr_t *si_outer;

SI_COLD bool si_nested_slow(const uintptr_t *fp);

/* The memory that the engine in whose call the thread is has taken from malloc; 1: none yet; 0: the
 * thread is in no engine's call. */
SI_INTERNAL __thread uintptr_t si_engine_took;

/* Call instead of recording a block that malloc hands out below another call. */
SI_COLD void si_inner_block(const uintptr_t *fp, void *block);

/* True if an event at `fp` is made by the allocator that serves another call. */
static inline bool si_nested(const uintptr_t *fp)
{
	return __builtin_expect(si_outer != NULL, 0) && si_nested_slow(fp);
}

#define SI_GUARDED(guard) \
	guard(malloc, void *, (size_t size), (size)) \
	guard(calloc, void *, (size_t count, size_t size), (count, size)) \
	guard(realloc, void *, (void *block, size_t size), (block, size)) \
	guard(memalign, void *, (size_t align, size_t size), (align, size)) \
	guard(aligned_alloc, void *, (size_t align, size_t size), (align, size)) \
	guard(posix_memalign, int, (void **out, size_t align, size_t size), (out, align, size)) \
	guard(valloc, void *, (size_t size), (size)) \
	guard(pvalloc, void *, (size_t size), (size))

/* Puts the guard in front of *slot, unless that is NULL or the C library's. */
#define SI_GUARD(id, result, parameters, arguments) void si_guard_##id(result(**slot) parameters);
SI_GUARDED(SI_GUARD)
#undef SI_GUARD
void si_guard_free(void (**slot)(void *block));

/* Returns the real function of a guard; any other function is returned unchanged. */
uintptr_t si_unguarded(uintptr_t function);

#endif
