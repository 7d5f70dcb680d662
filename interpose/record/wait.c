/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.c: waits only while a sidecar empties the ring. Without one (it was never started, it was
 * killed, it gave up) waiting would only stop the program.
 *
 * A program waits as long as the sidecar makes progress: it beats, or frees something, even if
 * another thread takes that first. An overloaded machine or a slow disk makes a sidecar slow, not
 * dead, and a slow one must lose nothing; it beats during its long steps too
 * (sidecar/ring/heartbeat.h). Three seconds without progress end the wait, and so do thirty seconds
 * in which nothing is freed: a sidecar that beats and frees nothing for so long is broken. A
 * sidecar of low priority (sidecar/proc/priority.h) gets ten seconds: it may wait for a processor
 * for five. So does one that has just been started, or has not found this ring yet: on a loaded
 * machine with a cold disk its start alone took more than three. One whose beat is old when the
 * wait begins gets one second: it was killed, or the whole machine stood still. After a wait that
 * failed, no thread waits again before there is progress: a sidecar that died or is stopped costs
 * the process that time once, and not once for each thread or event.
 *
 * Only time in which this thread could run counts: a sleep counts as the time asked for, any other
 * time between two looks as LONGEST_LOOK at most. Where a machine, a container or a process group
 * stands still (SIGSTOP, a freezer, a virtual machine that its host does not run), the sidecar
 * stands still with it, and by the clock alone the wait would have been long enough. Where
 * thousands of threads want the processors, a sidecar of low priority gets none for seconds; and
 * then a thread that asked for a tenth of a second sleeps for three. A thread that may not sleep
 * has no such measure.
 *
 * Sleeping. A sleep is a system call, and a seccomp filter may end the program for it. So a waiting
 * thread spins until the sidecar has looked at /proc and reports that none of this process's
 * threads has a filter that the sidecar lacks: this thread, which waits here, cannot have installed
 * one since. The hooks of prctl and syscall notice a filter that another thread installs on all
 * threads, and from then on no thread sleeps. Not covered: another thread that does so by an
 * instruction of its own, in the very milliseconds of this wait.
 *
 * si_wait_unfiltered does the same before other calls that a filter could forbid.
 *
 * Thousands of threads may wait at a time. So none of them searches the ring's tables before
 * header.given has changed, and the more there are, the longer they sleep: 2,000 that woke up every
 * five milliseconds took the processor from the sidecar that they waited for.
 */
#include "wait.h"

#include "../core/ring_map.h"
#include "../core/clock.h"
#include "../core/env.h"
#include "process.h"
#include "../core/sys.h"

enum {
	SPINS = 20,               /* before the first sleep, of PAUSES each: about 50 µs */
	PAUSES = 100,
	FIRST_SLEEP = 50 * 1000,  /* ns; doubles up to LONGEST_SLEEP for each CROWD of waiters, at
	                           * most to LONGEST_OF_ALL */
	LONGEST_SLEEP = 5 * 1000 * 1000,
	CROWD = 64,
	LONGEST_OF_ALL = 100 * 1000 * 1000,
	LONGEST_LOOK = 2 * LONGEST_OF_ALL,
};
#define SECOND UINT64_C(1000000000) /* ns */
static const uint64_t beat_age = 10 * SECOND; /* two seconds were too few where other programs kept
                                               * processors and disk busy */
static const uint64_t start_age = 60 * SECOND; /* age of a ring after which no new sidecar is
                                                * expected */
static const uint64_t patience_starts = 10 * SECOND, patience_low = 10 * SECOND,
		      patience_beats = 3 * SECOND, patience_old = 1 * SECOND;
static const uint64_t longest_wait = 30 * SECOND;

/* True if `ticks` is at least `ns` ago. Signed: a time written by another processor may be later
 * than our own reading of the clock. */
static bool older(uint64_t ticks, uint64_t ns)
{
	return (int64_t)(si_ticks() - ticks) >= (int64_t)si_ticks_of(ns);
}

/* Returns how long to wait without progress at present, in ns; 0: there is no sidecar. */
static uint64_t patience(void)
{
	const struct shiny_header *h = si_ring.header;
	uint64_t beat = __atomic_load_n(&h->sidecar_beat, __ATOMIC_ACQUIRE); /* [ctl] */

	if (beat && older(beat, beat_age))
		return patience_old;
	if (beat) /* [ctl] */
		return __atomic_load_n(&h->sidecar_low, __ATOMIC_RELAXED) ? patience_low :
									    patience_beats;
	/* it has not beaten yet, or it has cleared its beat: it has given up */
	if (!si_ring.served || __atomic_load_n(&h->sidecar_pid, __ATOMIC_RELAXED) || /* [ctl] */
	    older(h->start_ticks, start_age))
		return 0;
	return patience_starts;
}

static uint64_t given(void)
{
	return __atomic_load_n(&si_ring.header->given, __ATOMIC_ACQUIRE); /* [give] */
}

/* Returns a number that changes when the sidecar beats or frees something. */
static uint64_t progress(void)
{
	/* [ctl] */
	return __atomic_load_n(&si_ring.header->sidecar_beat, __ATOMIC_RELAXED) + given();
}

static uint32_t waiters; /* of this process; in a child, the copy may count threads that it does not
                          * have */
static uint64_t stood_still = UINT64_MAX; /* progress() when a wait failed; UINT64_MAX: none has. It
                                           * is 0 before the sidecar's first beat */

static uint32_t never_sleep;

static uint32_t filtered;

void si_wait_filtered(void)
{
	__atomic_store_n(&filtered, 1, __ATOMIC_RELAXED);
}

bool si_wait_is_filtered(void)
{
	return __atomic_load_n(&filtered, __ATOMIC_RELAXED);
}

void si_wait_awake(void)
{
	__atomic_store_n(&never_sleep, 1, __ATOMIC_RELAXED);
}

/* Announces a wait, and returns its number in the process's slot; 0: there is no slot. */
static uint32_t wait_begins(void)
{
	/* [ctl] */
	return si_process.slot < 0 ? 0
				   : __atomic_add_fetch(&si_ring.processes[si_process.slot].waits,
							1, __ATOMIC_RELAXED);
}

static bool may_sleep(uint32_t wait)
{
	return wait && !__atomic_load_n(&never_sleep, __ATOMIC_RELAXED) &&
	       (int32_t)(__atomic_load_n(&si_ring.processes[si_process.slot].may_sleep,
					 __ATOMIC_RELAXED) -
			 wait) >= 0; /* [ctl] */
}

/* Returns as how much of the time that it takes it counts at most, in ns. */
static uint64_t pause_for(uint64_t ns, uint32_t wait)
{
	uint64_t start = si_ticks(), span = si_ticks_of(FIRST_SLEEP);

	if (may_sleep(wait)) {
		si_sys_sleep(ns);
		return ns;
	}
	while (si_ticks() - start < span)
		__builtin_ia32_pause();
	return LONGEST_LOOK;
}

static bool has_looked(uint32_t wait)
{
	const struct shiny_process *p = &si_ring.processes[si_process.slot];

	return (int32_t)(__atomic_load_n(&p->looked, __ATOMIC_ACQUIRE) - wait) >= 0; /* [ctl] */
}

bool si_wait_unfiltered(void)
{
	uint64_t now, all = 0, most = patience();
	uint32_t wait;

	if (si_wait_is_filtered() || !si_alive() || !si_own_slot())
		return false;
	wait = wait_begins();
	now = si_clock_ns(CLOCK_MONOTONIC_COARSE);
	while (!has_looked(wait) && all < most) {
		uint64_t before = now;

		pause_for(0, wait);
		now = si_clock_ns(CLOCK_MONOTONIC_COARSE);
		all += now - before < LONGEST_LOOK ? now - before : LONGEST_LOOK;
	}
	return may_sleep(wait);
}

static uint64_t longest_sleep(void)
{
	uint64_t longest =
		LONGEST_SLEEP * (1 + (uint64_t)__atomic_load_n(&waiters, __ATOMIC_RELAXED) / CROWD);

	return longest < LONGEST_OF_ALL ? longest : LONGEST_OF_ALL;
}

bool si_wait_for(bool (*attempt)(void *context), void *context, bool *waited)
{
	uint64_t now, all = 0, still = 0, seen, tried, sleep = FIRST_SLEEP;
	uint32_t wait, crowd;
	bool done;

	*waited = false;
	if (si_env.on_full != 0 || !patience())
		return false;
	seen = progress();
	if (seen == __atomic_load_n(&stood_still, __ATOMIC_RELAXED))
		return false;
	*waited = true;
	wait = wait_begins();
	crowd = __atomic_add_fetch(&waiters, 1, __ATOMIC_RELAXED);
	now = si_clock_ns(CLOCK_MONOTONIC_COARSE);
	tried = given();
	done = attempt(context);
	for (unsigned n = 0; !done && all < longest_wait && still < patience(); n++) {
		uint64_t before = seen, began = now, most = LONGEST_LOOK, looked, news;

		if (n < SPINS && crowd < CROWD) {
			for (unsigned i = 0; i < PAUSES; i++)
				__builtin_ia32_pause();
		} else {
			most = pause_for(sleep, wait);
			if (sleep < longest_sleep())
				sleep *= 2;
		}
		news = given();
		if (news != tried) {
			tried = news;
			all = 0;
			done = attempt(context);
		}
		now = si_clock_ns(CLOCK_MONOTONIC_COARSE);
		looked = now - began < most ? now - began : most;
		all += looked;
		seen = progress();
		still = seen == before ? still + looked : 0;
	}
	__atomic_sub_fetch(&waiters, 1, __ATOMIC_RELAXED);
	if (!done)
		__atomic_store_n(&stood_still, seen, __ATOMIC_RELAXED);
	return done;
}
