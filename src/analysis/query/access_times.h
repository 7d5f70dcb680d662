/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_times.h: the times when a source of accesses was on (`shinyctl tell`); other times are
 * unknown.
 *
 * Runs: CLI. Signals: no. Allocates: 16 bytes a time. Threads: one a store.
 */
#ifndef SHINY_ACCESS_TIMES_H
#define SHINY_ACCESS_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/mem.h"
#include "filter.h"

struct access_time {
	uint64_t from, until; /* ns of the session; until UINT64_MAX: to its end */
};
struct access_times {
	VEC(struct access_time) at; /* ascending; empty: never on */
	uint64_t sum;               /* ns, of all times */
};

/* Loads the times. `key`: access_watch_on, access_pages_on. */
SHINY_MUST_CHECK struct shiny_err *access_times_load(struct store *store, const char *key,
						     struct access_times *out);
void access_times_deinit(struct access_times *times);
/* True if it was on from `from` to `until` without a break. */
bool access_times_hold(const struct access_times *times, uint64_t from, uint64_t until);

#endif
