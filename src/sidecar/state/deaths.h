/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deaths.h: the recently ended blocks of a process. A child whose fork is noticed late inherits
 * those that lived then (process/inheritance.h), and a double free is found among them.
 *
 * Runs: sidecar. Signals: no. Allocates: 40 bytes a death, in parts of DEATHS_PART of them.
 * Threads: one.
 *
 * It holds the deaths of two seconds, at most DEATHS_MOST, in parts: touching new memory is the
 * main cost, so a part that is old enough is reused, and none is ever copied.
 */
#ifndef SHINY_DEATHS_H
#define SHINY_DEATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../ring/ticks.h"
#include "registry.h"

enum { DEATHS_PART = 4096, DEATHS_PARTS = 64, DEATHS_MOST = DEATHS_PART * DEATHS_PARTS };

struct death {
	struct entry entry;
	uint64_t time; /* ticks */
};
struct deaths { /* zeroed: none */
	struct death *parts[DEATHS_PARTS]; /* a ring */
	unsigned first, used;              /* indexes and numbers of parts */
	struct death *next, *end;          /* in the latest part: place of the next death */
	uint64_t lost;                     /* ticks: deaths up to here are not remembered */
};

/* Makes deaths_add write to a new part, or to the oldest one. */
void deaths_begin_part(struct deaths *deaths, uint64_t time, const struct ticks *clock);

static inline __attribute__((always_inline)) void
deaths_add(struct deaths *d, const struct entry *entry, uint64_t time, const struct ticks *clock)
{
	if (__builtin_expect(d->next == d->end, 0))
		deaths_begin_part(d, time, clock);
	*d->next++ = (struct death){ *entry, time };
}

/* Called for deaths, the latest first; false ends that. */
typedef bool death_fn(void *context, const struct death *death);
void deaths_each(const struct deaths *deaths, death_fn *each, void *context);

void deaths_deinit(struct deaths *deaths); /* frees all, but keeps `lost` */

#endif
