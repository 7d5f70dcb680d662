/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c: see clock.h.
 *
 * The slow clock is the kernel's coarse one, which the vdso answers from memory on any machine:
 * neither a system call nor the TSC. It stands still for up to ten milliseconds, so each reading is
 * at least one tick later than the one before it in the process: order is exact, distances are not.
 * No program makes events so fast that these steps would overtake the clock.
 *
 * The TSC can be forbidden while we run: for one thread and what it starts (PR_SET_TSC), or with
 * strict seccomp. The hooks of prctl and syscall tell us before it happens; from then on the whole
 * process reads the slow clock, converted into the ticks that it has written until then, by the
 * rate that the two clocks had since boot. A program that exec has started with the TSC forbidden
 * is not met: the loader reads the TSC before it has loaded anything, and dies of it.
 *
 * Not covered: one that forbids the TSC by a system call instruction of its own. Only a handler for
 * its SIGSEGV could notice, and that is the program's.
 */
#include "clock.h"

#include <cpuid.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "sys.h"
#include "vdso.h"

uint32_t si_clock;
static si_clock_gettime *get_time = clock_gettime;
static uint64_t boot_ticks, boot_ns; /* the TSC and CLOCK_MONOTONIC, read together */
static uint64_t switched_ticks, switched_ns; /* the TSC and the coarse clock, read when the process
                                              * left the TSC */
static double ticks_per_ns = 1;
static bool fine_is_quick; /* the vdso answers CLOCK_MONOTONIC without a system call */
static uint64_t latest; /* the last reading of the slow clock */

enum { INVARIANT_TSC = 1 << 8, READINGS = 8, CALLS = 2 };

static uint64_t least(uint64_t (*call)(void), int times)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < times; i++) {
		uint64_t before = __builtin_ia32_rdtsc(), took;

		call();
		took = __builtin_ia32_rdtsc() - before;
		if (took < best)
			best = took;
	}
	return best;
}

uint64_t si_clock_ns(clockid_t which)
{
	struct timespec t = { 0 };

	get_time(which, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t read_clock(void)
{
	return si_clock_ns(CLOCK_MONOTONIC);
}

static uint64_t call_kernel(void)
{
	return (uint64_t)si_sys(SYS_getppid, 0, 0, 0);
}

/*
 * True if the TSC ticks evenly in all states and the kernel has not found the processors
 * unsynchronised.
 */
static bool tsc_is_good(void)
{
	unsigned a = 0, b = 0, c = 0, d = 0;
	char source[32];
	bool invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & INVARIANT_TSC);

	if (invariant &&
	    si_sys_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			     source, sizeof(source)) > 0)
		invariant = !si_same(source, "hpet", 4) && !si_same(source, "acpi_pm", 7) &&
			    !si_same(source, "jiffies", 7);
	return invariant;
}

void si_clock_find(void)
{
	si_clock_gettime *vdso = si_vdso_clock_gettime();

	if (vdso)
		get_time = vdso;
}

void si_clock_choose(void)
{
	/* for some clocks the vdso makes a system call, which a filter may forbid */
	fine_is_quick = least(read_clock, READINGS) < least(call_kernel, CALLS);
	if (tsc_is_good()) {
		si_clock = SI_CLOCK_TSC;
		boot_ns = si_clock_ns(CLOCK_MONOTONIC);
		boot_ticks = __builtin_ia32_rdtsc();
		return;
	}
	si_clock = fine_is_quick ? SI_CLOCK_MONOTONIC : SI_CLOCK_COARSE;
}

uint32_t si_clock_kind(void)
{
	return si_clock == SI_CLOCK_TSC || si_clock == SI_CLOCK_COARSE_TSC ? SHINY_CLOCK_TSC
									   : SHINY_CLOCK_MONOTONIC;
}

uint64_t si_ticks_slow(void)
{
	uint64_t now, before = __atomic_load_n(&latest, __ATOMIC_RELAXED), next;

	if (si_clock == SI_CLOCK_MONOTONIC)
		return si_clock_ns(CLOCK_MONOTONIC);
	now = si_clock_ns(CLOCK_MONOTONIC_COARSE);
	if (si_clock == SI_CLOCK_COARSE_TSC)
		now = switched_ticks +
		      (now > switched_ns ? (uint64_t)((double)(now - switched_ns) * ticks_per_ns)
					 : 0);
	do
		next = now > before ? now : before + 1;
	while (!__atomic_compare_exchange_n(&latest, &before, next, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return next;
}

uint64_t si_ticks_of(uint64_t ns)
{
	uint64_t span;

	if (si_clock == SI_CLOCK_TSC) {
		span = si_clock_ns(fine_is_quick ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE);
		span = span > boot_ns ? span - boot_ns : 0;
		/* over too short a span the rate is unknown: no processor ticks faster than 8
		 * GHz */
		return span < (fine_is_quick ? 10000 : 100000000)
			       ? ns * 8
			       : (uint64_t)((double)ns *
					    (double)(__builtin_ia32_rdtsc() - boot_ticks) /
					    (double)span);
	}
	return si_clock == SI_CLOCK_COARSE_TSC ? (uint64_t)((double)ns * ticks_per_ns) : ns;
}

/* ---- the TSC forbidden ---- */

bool si_clock_leave_tsc(void)
{
	uint64_t ns, ticks;

	if (si_clock != SI_CLOCK_TSC || !boot_ns)
		return false;
	ns = si_clock_ns(fine_is_quick ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE);
	ticks = __builtin_ia32_rdtsc();
	if (ns > boot_ns && ticks > boot_ticks)
		ticks_per_ns = (double)(ticks - boot_ticks) / (double)(ns - boot_ns);
	switched_ns = si_clock_ns(CLOCK_MONOTONIC_COARSE);
	switched_ticks = latest = ticks;
	__atomic_store_n(&si_clock, SI_CLOCK_COARSE_TSC, __ATOMIC_RELEASE);
	return true;
}

void si_clock_return_to_tsc(void)
{
	__atomic_store_n(&si_clock, SI_CLOCK_TSC, __ATOMIC_RELEASE);
}

bool si_clock_forbids_tsc(long call, long a, long b)
{
	if (call == SYS_prctl)
		return (a == PR_SET_TSC && b == PR_TSC_SIGSEGV) ||
		       (a == PR_SET_SECCOMP && b == SECCOMP_MODE_STRICT);
	return call == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT;
}
