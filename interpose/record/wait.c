/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.c: what counts is whether somebody is emptying the ring: a sidecar whose last beat is
 * younger than ten seconds is worth waiting for; without one (it was never started, it was killed)
 * waiting would only stop the program.
 *
 * A program waits as long as the sidecar makes progress: it beats, or gives something back, be it
 * to another thread that was quicker. A machine with more to do than processors, or a slow disk,
 * makes a sidecar slow, not dead, and a slow one must lose nothing; it beats during its long steps
 * too (sidecar/ring/heartbeat.h). Three seconds without progress end the wait, and so do thirty
 * seconds in all: a sidecar that beats and frees nothing for so long is broken. A wait that failed
 * is not repeated by any thread before there is progress again: a sidecar that died or is stopped
 * costs the process three seconds, once, and not one for each thread or event.
 *
 * How it is waited. A sleep is a system call, and a seccomp filter may end the program for it. So a
 * waiting thread spins until the sidecar has looked at /proc and says that none of this process's
 * threads has a filter that the sidecar has not: this thread, which stands here, cannot have put
 * one in place since. One that another thread puts on all of them tells us by the hooks of prctl
 * and syscall, and from then on nobody sleeps. Not covered: another thread that does so by an
 * instruction of its own, in the very milliseconds of this wait.
 *
 * Thousands of threads may wait at a time. So none of them looks through the ring's tables before
 * header.given says that there is something new in them, and they sleep the longer the more they
 * are: 2,000 that woke up every five milliseconds took the processor from the sidecar that they
 * waited for.
 */
#include "wait.h"

#include "../core/ring_map.h"
#include "../core/clock.h"
#include "../core/env.h"
#include "process.h"
#include "../core/sys.h"

enum {
	SPINS = 20,               /* of PAUSES each, before the first sleep: about 50 µs */
	PAUSES = 100,
	FIRST_SLEEP = 50 * 1000,  /* ns; doubles up to: */
	LONGEST_SLEEP = 5 * 1000 * 1000, /* for each so many that wait: */
	CROWD = 64,
	LONGEST_OF_ALL = 100 * 1000 * 1000,
};
static const uint64_t beat_age = UINT64_C(10000000000); /* ns; two were too few where others kept
                                                         * processors and disk busy */
static const uint64_t patience = UINT64_C(3000000000); /* ns without any progress */
static const uint64_t longest_wait = UINT64_C(30000000000); /* ns */

static bool sidecar_beats(void)
{
	/* [ctl] */
	uint64_t beat = __atomic_load_n(&si_ring.header->sidecar_beat, __ATOMIC_RELAXED);

	/* one that is still starting has not beaten yet: it counts from the ring's birth */
	if (beat == 0 && si_ring.served)
		beat = si_ring.header->start_ticks;
	/* signed: the beat may be younger than our own look at the clock, which the processor moves
	 * ahead of the load */
	return beat && (int64_t)(si_ticks() - beat) < (int64_t)si_ticks_of(beat_age);
}

static uint64_t given(void)
{
	return __atomic_load_n(&si_ring.header->given, __ATOMIC_ACQUIRE); /* [give] */
}

/* A number that changes when the sidecar beats or gives something back. */
static uint64_t progress(void)
{
	/* [ctl] */
	return __atomic_load_n(&si_ring.header->sidecar_beat, __ATOMIC_RELAXED) + given();
}

/* A sidecar that fails takes its beat back; one that has not beaten yet is still starting. */
static bool sidecar_gave_up(void)
{
	/* [ctl] */
	return __atomic_load_n(&si_ring.header->sidecar_beat, __ATOMIC_RELAXED) == 0 &&
	       !sidecar_beats();
}

static uint32_t waiters; /* of this process; a child's copy may be of threads that it does not
                          * have */
static uint64_t stood_still = UINT64_MAX; /* progress() when a wait had failed; none has. Before the
                                           * sidecar's first beat it is 0 */

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

/* The process's number of this wait; 0: it has no slot to ask in. */
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

static void pause_for(uint64_t ns, uint32_t wait)
{
	uint64_t start = si_ticks(), span = si_ticks_of(FIRST_SLEEP);

	if (may_sleep(wait))
		si_sys_sleep(ns);
	else
		while (si_ticks() - start < span)
			__builtin_ia32_pause();
}

static uint64_t longest_sleep(void)
{
	uint64_t longest =
		LONGEST_SLEEP * (1 + (uint64_t)__atomic_load_n(&waiters, __ATOMIC_RELAXED) / CROWD);

	return longest < LONGEST_OF_ALL ? longest : LONGEST_OF_ALL;
}

bool si_wait_for(bool (*attempt)(void *context), void *context, bool *waited)
{
	uint64_t start, now, moved, seen, tried, sleep = FIRST_SLEEP;
	uint32_t wait, crowd;
	bool done;

	*waited = false;
	if (si_env.on_full != 0 || !sidecar_beats())
		return false;
	seen = progress();
	if (seen == __atomic_load_n(&stood_still, __ATOMIC_RELAXED))
		return false;
	*waited = true;
	wait = wait_begins();
	crowd = __atomic_add_fetch(&waiters, 1, __ATOMIC_RELAXED);
	start = now = moved = si_clock_ns(CLOCK_MONOTONIC_COARSE);
	tried = given();
	done = attempt(context);
	for (unsigned n = 0;
	     !done && now - start < longest_wait && now - moved < patience && !sidecar_gave_up();
	     n++) {
		uint64_t before = seen, news;

		if (n < SPINS && crowd < CROWD) {
			for (unsigned i = 0; i < PAUSES; i++)
				__builtin_ia32_pause();
		} else {
			pause_for(sleep, wait);
			if (sleep < longest_sleep())
				sleep *= 2;
		}
		news = given();
		if (news != tried) {
			tried = news;
			done = attempt(context);
		}
		now = si_clock_ns(CLOCK_MONOTONIC_COARSE);
		seen = progress();
		if (seen != before)
			moved = now;
	}
	__atomic_sub_fetch(&waiters, 1, __ATOMIC_RELAXED);
	if (!done)
		__atomic_store_n(&stood_still, seen, __ATOMIC_RELAXED);
	return done;
}
