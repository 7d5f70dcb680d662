/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticks.h: the session's clock: what a tick of the rings is in nanoseconds since the session began.
 *
 * Runs: sidecar. Signals: no. Allocates: 32 bytes a drain of the first ten seconds. Threads: one.
 *
 * The library reads the raw counter and makes no attempt to know its rate. The header holds one
 * pair (ticks, boottime) read together; the sidecar reads another pair at its drains, and the
 * baseline between the two grows: after 5 ms it is good to 20 parts in a million, after ten seconds
 * to 10 in a thousand million, and then it is left alone. A better rate never makes time jump:
 * conversion is a line through an anchor, and a new rate starts at the point that the old one has
 * reached. What was converted by an earlier line differs by some nanoseconds from what the present
 * one says of the same ticks; ticks_ns_then() says what it was.
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
	uint64_t until; /* ticks: the last that were converted by it */
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

/* Starts the session's clock with the first ring's reading; `per_second` 0, or what no processor
 * has: measure. */
void ticks_init(struct ticks *clock, uint32_t kind, uint64_t read_ticks, uint64_t read_boottime,
		uint64_t per_second, bool foreign);
/* At each drain; does nothing once settled. `converted`: ticks up to which times have been
 * converted. */
void ticks_calibrate(struct ticks *clock, uint64_t converted);
/* As these ticks were converted when it was their turn. */
uint64_t ticks_ns_then(const struct ticks *clock, uint64_t ticks);
void ticks_deinit(struct ticks *clock);
uint64_t ticks_now(const struct ticks *clock); /* UINT64_MAX for foreign ticks: all of them are
                                                * past */
uint64_t ticks_per_second(const struct ticks *clock);
/* The latest time that an honest program can have written by now; a second more, as the ticks' rate
 * is only being learnt. */
uint64_t ticks_latest(const struct ticks *clock);
uint64_t ticks_wall_ns(void); /* CLOCK_MONOTONIC, for the sidecar's own pacing */

static inline int64_t ticks_scale(const struct ticks *clock, int64_t ticks)
{
	return (int64_t)((__int128)ticks * (__int128)clock->rate >> 32);
}

/* Nanoseconds since the session's start; what lies before it is 0. */
static inline uint64_t ticks_ns(const struct ticks *clock, uint64_t ticks)
{
	int64_t ns =
		(int64_t)(clock->anchor_ns +
			  (uint64_t)ticks_scale(clock, (int64_t)(ticks - clock->anchor_ticks)));

	return ns > 0 ? (uint64_t)ns : 0;
}

#endif
