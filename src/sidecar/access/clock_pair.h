/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_pair.h: one moment on the session's clock and on CLOCK_MONOTONIC, by which times of the
 * latter become ticks.
 *
 * Runs: sidecar. Signals: no. Allocates: no. Threads: the loop's.
 */
#ifndef SHINY_CLOCK_PAIR_H
#define SHINY_CLOCK_PAIR_H

#include "../state/session.h"

struct clock_pair {
	uint64_t ticks, wall; /* wall: ns */
};

void clock_pair_read(const struct session *session, struct clock_pair *out);
/* As many ticks as last `ns`. */
uint64_t clock_pair_span(const struct session *session, uint64_t ns);
/* Of a time before the pair's. */
uint64_t clock_pair_ticks(const struct session *session, const struct clock_pair *pair,
			  uint64_t wall);

#endif
