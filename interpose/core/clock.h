/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h: the time of an event, in ticks.
 *
 * Runs:      inside.
 * Signals:   safe.
 * Allocates: nothing, and makes no system call after boot.
 * Threads:   any.
 *
 * A tick is one of the invariant TSC where the processor has one and the kernel has not found it
 * unsynchronised, else one nanosecond of CLOCK_MONOTONIC, or of its coarse form where the vdso
 * cannot answer for the fine one (clock.c). There is no fence: measured here, rdtsc costs 9.8 ns
 * and lfence+rdtsc 19.7, a third of the whole budget. For a free the time is exact anyway: later
 * stores of the program cannot become visible before the rdtsc has retired. The rdtsc of an
 * allocation may run ahead of the real call's last loads, by no more than the processor's window;
 * the sidecar's rule for one address (a block's free comes before the next block's birth there)
 * covers it.
 */
#ifndef SI_CLOCK_H
#define SI_CLOCK_H

#include <time.h>

#include <shiny/wire/wire.h>

#include "base.h"

enum si_clock {
	SI_CLOCK_TSC = 0,
	SI_CLOCK_MONOTONIC = 1,
	SI_CLOCK_COARSE = 2,
	SI_CLOCK_COARSE_TSC =
		3, /* the coarse clock, converted to TSC ticks, once the TSC is forbidden */
};
SI_INTERNAL uint32_t si_clock; /* enum si_clock; set by boot */

SI_INTERNAL uint64_t si_clock_ns(clockid_t which);

SI_COLD uint64_t si_ticks_slow(void);

static inline uint64_t si_ticks(void)
{
	if (SI_LIKELY(__atomic_load_n(&si_clock, __ATOMIC_RELAXED) == SI_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
	return si_ticks_slow();
}

/* Finds the vdso's clock. Called by boot before it needs the time. The time is the kernel's
 * (vdso.h), not that of the program's clock_gettime. */
void si_clock_find(void);
/* Chooses si_clock. Called by boot before the first event. */
void si_clock_choose(void);
uint32_t si_clock_kind(void); /* enum shiny_clock: what a tick is */

/* Converts nanoseconds to ticks, to within some per cent; the result is too large just after
 * boot. */
uint64_t si_ticks_of(uint64_t ns);

/*
 * True if a system call forbids this thread to read the TSC; `a` and `b` are its first arguments.
 */
bool si_clock_forbids_tsc(long call, long a, long b);
/*
 * Switches this process to another clock, before such a call; false: it was switched already. After
 * a call that failed, si_clock_return_to_tsc() undoes it.
 */
SI_COLD bool si_clock_leave_tsc(void);
SI_COLD void si_clock_return_to_tsc(void);

#endif
