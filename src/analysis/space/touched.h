/* SPDX-License-Identifier: Apache-2.0 */
/*
 * touched.h: what a session knows of touched pages (table page_use): which blocks nobody used
 * around a moment, and how many pages were in use over time.
 *
 * Runs: CLI. Signals: no. Allocates: 40 bytes a row of the table. Threads: one a store.
 *
 * A reading says of the mappings of a process how many of their pages were touched from when the
 * kernel's marks were cleared until it was made. The reading for a moment is the last one of the
 * clearing before it, of those that took at least TOUCHED_LEAST. A block that lived until that
 * reading, on a mapping of which no page was touched, was neither read nor written from the
 * clearing, or its birth, until then: that is proven, and is what Z means here. A block of which
 * that cannot be said may be unused all the same. Of a moment after the source was switched off
 * nothing is known.
 */
#ifndef SHINY_TOUCHED_H
#define SHINY_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/mem.h"
#include "../query/access_times.h"
#include "../query/filter.h"

#define TOUCHED_LEAST UINT64_C(1000000000) /* ns */
#define TOUCHED_LAST  UINT64_MAX           /* a moment: the end of whatever is asked about */

struct touched_mapping {
	uint64_t start, end;
	uint64_t pages, touched; /* in memory; of these, touched at most */
};
struct touched_reading {
	uint32_t process;
	uint64_t from, until; /* ns since the session's start */
	size_t first, count;  /* mappings, ascending */
};
struct touched {
	bool recorded; /* SHINY_ACCESS=pages; else nothing is known */
	VEC(struct touched_mapping) mappings;
	VEC(struct touched_reading) readings; /* by process, from, until */
	struct access_times on;
};

SHINY_MUST_CHECK struct shiny_err *touched_load(struct store *store, const struct filter *filter,
						struct touched *out);
void touched_deinit(struct touched *touched);

/* The reading for a moment of a process; NULL: there is none. */
const struct touched_reading *touched_at(const struct touched *touched, uint32_t process,
					 uint64_t time);
/* It is proven that nobody used this block, which lives at the reading's moment. */
bool touched_never(const struct touched *touched, const struct touched_reading *reading,
		   uint64_t address, uint64_t size, uint64_t birth);

/* A moment of all processes together. */
struct touched_sums {
	size_t processes;        /* that have a reading for it; 0: nothing is known */
	uint64_t least, most;    /* ns: how long these readings took */
	uint64_t pages, touched; /* of mappings with live blocks */
	uint64_t idle_pages;     /* of mappings of which none was touched */
};
void touched_sum(const struct touched *touched, uint64_t time, struct touched_sums *out);

#endif
