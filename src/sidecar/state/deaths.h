/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deaths.h: the blocks of a process that ended lately: a child whose fork is heard of late has
 * those that lived then (process/inheritance.h), and what is freed twice was freed before.
 *
 * Runs: sidecar. Signals: no. Allocates: 40 bytes a death, in parts of DEATHS_PART of them.
 * Threads: one.
 *
 * Two seconds' worth, at most DEATHS_MOST. Parts, as memory that is touched for the first time is
 * what remembering costs most: one that is old enough is used again, and none is ever copied.
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
	unsigned first, used;              /* parts */
	struct death *next, *end;          /* in the latest part: where the next one goes */
	uint64_t lost;                     /* ticks: deaths up to here are not remembered */
};

/* What deaths are written to next: a new part, or the oldest one. */
void deaths_begin_part(struct deaths *deaths, uint64_t time, const struct ticks *clock);

static inline __attribute__((always_inline)) void
deaths_add(struct deaths *d, const struct entry *entry, uint64_t time, const struct ticks *clock)
{
	if (__builtin_expect(d->next == d->end, 0))
		deaths_begin_part(d, time, clock);
	*d->next++ = (struct death){ *entry, time };
}

/* The latest first; false: enough. */
typedef bool death_fn(void *context, const struct death *death);
void deaths_each(const struct deaths *deaths, death_fn *each, void *context);

void deaths_deinit(struct deaths *deaths); /* there are none any more */

#endif
