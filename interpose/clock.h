/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h: the time of an event, in ticks.
 *
 * Runs:      inside.
 * Signals:   safe.
 * Allocates: nothing, and makes no system call (clock_gettime is the vdso's).
 * Threads:   any.
 *
 * A tick is one of the invariant TSC where the processor has one and the kernel has not found it unsynchronised, else one
 * nanosecond of CLOCK_MONOTONIC. No fence: measured here, rdtsc costs 9.8 ns and lfence+rdtsc 19.7, a third of the whole budget.
 * For a free that is exact anyway: what the program does afterwards cannot become visible before the rdtsc has retired. The rdtsc
 * of an allocation may run ahead of the real call's last loads, by no more than the processor's window; the sidecar's rule for
 * one address (a block's free comes before the next block's birth there) covers it.
 */
#ifndef SI_CLOCK_H
#define SI_CLOCK_H

#include <time.h>

#include <shiny/wire.h>

#include "base.h"

SI_INTERNAL uint32_t si_clock; /* enum shiny_clock; set once, by boot */

static inline uint64_t si_clock_ns(clockid_t which)
{
	struct timespec t = { 0 };

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t si_ticks(void)
{
	if (SI_LIKELY(si_clock == SHINY_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
	return si_clock_ns(CLOCK_MONOTONIC);
}

#endif
