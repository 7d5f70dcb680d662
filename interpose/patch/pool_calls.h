/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_calls.h: the hook of a function of pools (allocator.def: SHINY_ALLOCATOR_POOL).
 *
 * Runs: inside, in place of the function. Signals: as the function. Allocates: what the function
 * does. Threads: any.
 */
#ifndef SI_POOL_CALLS_H
#define SI_POOL_CALLS_H

#include "own_function.h"

/* Calls the original function of `o` for the caller of the hook at `fp`, and records what it
 * does. */
unsigned __int128 si_pool_call(const uintptr_t *fp, const struct si_own *o,
			       const uintptr_t *argument);

#endif
