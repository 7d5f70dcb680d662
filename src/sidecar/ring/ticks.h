/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticks.h: the session's clock: converts ticks of the rings to nanoseconds since the session began.
 *
 * Runs: sidecar. Signals: no. Allocates: 32 bytes a drain of the first ten seconds. Threads: one.
 *
 * The library reads the raw counter and does not measure its rate. The header holds one pair
 * (ticks, boottime) read together; the sidecar reads another pair at its drains, and the baseline
 * between the two grows: after 5 ms the rate is good to 20 parts in a million, after ten seconds to
 * 10 in a thousand million, and then it stays fixed. A better rate never makes time jump:
 * conversion is a line through an anchor, and a new rate starts at the point that the old one has
 * reached. An earlier line and the present one convert the same ticks with a difference of some
 * nanoseconds; ticks_ns_then() uses the earlier line.
 *
 * Everything that compares times (merging, births against forks) compares ticks, exactly;
 * nanoseconds are for the file only.
 */
#ifndef SHINY_TICKS_H
#define SHINY_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/mem.h"

struct ticks_line {
	uint64_t until; /* the last ticks converted by this line */
	uint64_t anchor_ticks, anchor_ns, rate;
};
struct ticks {
	uint32_t kind;       /* enum shiny_clock */
	bool foreign;        /* another boot's ticks: "now" means nothing */
	bool settled;        /* the rate is final */
	uint64_t zero;       /* ticks: the session's start */
	uint64_t read_ticks, read_boottime; /* the first ring's reading */
	uint64_t anchor_ticks, anchor_ns;
	uint64_t rate; /* ns a tick, 32.32 fixed point */
	VEC(struct ticks_line) before; /* ascending */
};

/* Starts the session's clock with the first ring's reading; `per_second` 0, or impossible for a
 * processor: measure the rate. */
void ticks_init(struct ticks *clock, uint32_t kind, uint64_t read_ticks, uint64_t read_boottime,
		uint64_t per_second, bool foreign);
/* Call at each drain; does nothing once settled. `converted`: ticks up to which times have been
 * converted. */
void ticks_calibrate(struct ticks *clock, uint64_t converted);
/* Converts ticks by the line that was in use when they were first converted. */
uint64_t ticks_ns_then(const struct ticks *clock, uint64_t ticks);
void ticks_deinit(struct ticks *clock);
uint64_t ticks_now(const struct ticks *clock); /* UINT64_MAX for foreign ticks: all are past */
uint64_t ticks_per_second(const struct ticks *clock);
/* Returns the latest ticks that an honest program can have written by now, plus a second, as the
 * rate is still being measured. */
uint64_t ticks_latest(const struct ticks *clock);
uint64_t ticks_wall_ns(void); /* CLOCK_MONOTONIC, for the sidecar's own pacing */

static inline int64_t ticks_scale(const struct ticks *clock, int64_t ticks)
{
	return (int64_t)((__int128)ticks * (__int128)clock->rate >> 32);
}

/* Returns ns since the session's start; 0 for ticks before it. */
static inline uint64_t ticks_ns(const struct ticks *clock, uint64_t ticks)
{
	int64_t ns =
		(int64_t)(clock->anchor_ns +
			  (uint64_t)ticks_scale(clock, (int64_t)(ticks - clock->anchor_ticks)));

	return ns > 0 ? (uint64_t)ns : 0;
}

#endif
