/* SPDX-License-Identifier: Apache-2.0 */
/* ticks.c: see ticks.h. */
#include "ticks.h"

#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#include <shiny/wire/wire.h>

#include "../../base/lower_bound.h"

#define SECOND UINT64_C(1000000000)
/* Rates of real processors' counters, in ticks a second: a ring with another one lies, and its rate
 * is ignored. */
#define LEAST_RATE UINT64_C(1000000)
#define MOST_RATE UINT64_C(100000000000)

static uint64_t clock_read(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

uint64_t ticks_wall_ns(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

static uint64_t now_of(uint32_t kind)
{
	return kind == SHINY_CLOCK_TSC ? __rdtsc() : clock_read(CLOCK_MONOTONIC);
}

/* Reads ticks and boottime at one moment: of five pairs, the one between the closest readings of
 * ticks. */
static void read_pair(uint32_t kind, uint64_t *ticks, uint64_t *boottime)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = now_of(kind), time = clock_read(CLOCK_BOOTTIME),
			 after = now_of(kind);

		if (after - before < best) {
			best = after - before;
			*ticks = before + (after - before) / 2;
			*boottime = time;
		}
	}
}

static uint64_t rate_of(uint64_t ns, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)ns << 32) / (ticks ? ticks : 1));
}

/* Returns the rate of this machine's counter, measured over 20 ms, for ticks without a usable
 * reading of their own. */
static uint64_t rate_here(uint32_t kind)
{
	uint64_t t0, b0, t1, b1;
	struct timespec pause = { .tv_nsec = 20000000 };

	read_pair(kind, &t0, &b0);
	nanosleep(&pause, NULL);
	read_pair(kind, &t1, &b1);
	return rate_of(b1 - b0, t1 - t0);
}

void ticks_init(struct ticks *clock, uint32_t kind, uint64_t read_ticks, uint64_t read_boottime,
		uint64_t per_second, bool foreign)
{
	*clock = (struct ticks){ .kind = kind,
				 .foreign = foreign,
				 .zero = read_ticks,
				 .read_ticks = read_ticks,
				 .read_boottime = read_boottime,
				 .anchor_ticks = read_ticks };
	if (kind == SHINY_CLOCK_MONOTONIC)
		per_second = SECOND;
	if (per_second >= LEAST_RATE && per_second <= MOST_RATE) {
		clock->rate = rate_of(SECOND, per_second);
		clock->settled = true;
	} else if (foreign) {
		clock->rate = rate_here(kind);
		clock->settled = true;
	} else {
		ticks_calibrate(clock, 0);
	}
}

void ticks_calibrate(struct ticks *clock, uint64_t converted)
{
	uint64_t ticks, boottime, rate;

	if (clock->settled)
		return;
	read_pair(clock->kind, &ticks, &boottime);
	if (ticks <= clock->read_ticks || boottime <= clock->read_boottime + 2000000)
		rate = clock->rate ? clock->rate
				   : rate_here(clock->kind); /* too short a baseline */
	else
		rate = rate_of(boottime - clock->read_boottime, ticks - clock->read_ticks);
	if (clock->rate) {
		*vec_push(&clock->before) = (struct ticks_line){ converted, clock->anchor_ticks,
								 clock->anchor_ns, clock->rate };
		clock->anchor_ns = ticks_ns(clock, ticks);
		clock->anchor_ticks = ticks;
	}
	clock->rate = rate;
	clock->settled = boottime > clock->read_boottime + 10 * SECOND;
}

uint64_t ticks_ns_then(const struct ticks *clock, uint64_t ticks)
{
	size_t at = lower_bound(clock->before.count, i, clock->before.at[i].until < ticks);
	struct ticks then = *clock;

	if (at < clock->before.count) {
		then.anchor_ticks = clock->before.at[at].anchor_ticks;
		then.anchor_ns = clock->before.at[at].anchor_ns;
		then.rate = clock->before.at[at].rate;
	}
	return ticks_ns(&then, ticks);
}

void ticks_deinit(struct ticks *clock)
{
	free(clock->before.at);
	clock->before.at = NULL;
	clock->before.count = clock->before.room = 0;
}

uint64_t ticks_now(const struct ticks *clock)
{
	return clock->foreign ? UINT64_MAX : now_of(clock->kind);
}

uint64_t ticks_latest(const struct ticks *clock)
{
	return clock->foreign ? UINT64_MAX / 4 : ticks_now(clock) + ticks_per_second(clock);
}

uint64_t ticks_per_second(const struct ticks *clock)
{
	return clock->rate ? (uint64_t)(((unsigned __int128)SECOND << 32) / clock->rate) : 0;
}
