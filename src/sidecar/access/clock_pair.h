/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_pair.h: one moment on the session's clock and on CLOCK_MONOTONIC, which converts times of
 * the latter to ticks.
 *
 * Runs: sidecar. Signals: no. Allocates: no. Threads: the loop's.
 */
#ifndef SHINY_CLOCK_PAIR_H
#define SHINY_CLOCK_PAIR_H

#include "../ring/ticks.h"

struct clock_pair {
	uint64_t ticks, wall; /* wall: ns */
};

void clock_pair_read(const struct ticks *ticks, struct clock_pair *out);
/* Returns `ns` in ticks. */
uint64_t clock_pair_span(const struct ticks *ticks, uint64_t ns);
/* Returns the ticks of `wall`, which must not be after the pair's. */
uint64_t clock_pair_ticks(const struct ticks *ticks, const struct clock_pair *pair, uint64_t wall);

#endif
