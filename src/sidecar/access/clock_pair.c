/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_pair.c: see clock_pair.h.
 *
 * A preemption between the readings sets the clocks apart; so the narrowest of several readings
 * counts.
 */
#include "clock_pair.h"

enum { CLOCK_READINGS = 4 };

void clock_pair_read(const struct ticks *ticks, struct clock_pair *out)
{
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < CLOCK_READINGS; i++) {
		uint64_t before = ticks_now(ticks), between = ticks_wall_ns();
		uint64_t after = ticks_now(ticks);

		if (after - before >= width)
			continue;
		width = after - before;
		out->ticks = before + width / 2;
		out->wall = between;
	}
}

uint64_t clock_pair_span(const struct ticks *ticks, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * ticks_per_second(ticks) / 1000000000);
}

uint64_t clock_pair_ticks(const struct ticks *ticks, const struct clock_pair *pair, uint64_t wall)
{
	return pair->ticks - clock_pair_span(ticks, pair->wall - wall);
}
