/* SPDX-License-Identifier: Apache-2.0 */
/*
 * touched.h: reads the session's touched pages (table page_use): blocks unused around a moment, and
 * the pages in use over time.
 *
 * Runs: CLI. Signals: no. Allocates: 40 bytes a row of the table. Threads: one a store.
 *
 * A reading counts the touched pages of each mapping of a process since the kernel's marks were
 * cleared. The reading for a moment is the last one of the clearing before it, among those that
 * took at least TOUCHED_LEAST. A block that lived until that reading, on a mapping without a
 * touched page, was neither read nor written from the clearing, or its birth, until then: that is
 * proof of Z. Other blocks may be unused, too. Moments after the source was switched off are
 * unknown.
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
#define TOUCHED_LAST  UINT64_MAX           /* a moment: the last reading */

struct touched_mapping {
	uint64_t start, end;
	uint64_t pages, touched; /* resident pages; those touched, an upper bound */
};
struct touched_reading {
	uint32_t process;
	uint64_t from, until; /* ns since the session's start */
	size_t first, count;  /* mappings, ascending */
};
struct touched {
	bool recorded; /* SHINY_ACCESS=pages was on; else all is unknown */
	VEC(struct touched_mapping) mappings;
	VEC(struct touched_reading) readings; /* sorted by process, from, until */
	struct access_times on;
};

SHINY_MUST_CHECK struct shiny_err *touched_load(struct store *store, const struct filter *filter,
						struct touched *out);
void touched_deinit(struct touched *touched);

/* Returns the reading for a moment of a process; NULL: none. */
const struct touched_reading *touched_at(const struct touched *touched, uint32_t process,
					 uint64_t time);
/* True if the block, live at the reading's moment, is proven unused. */
bool touched_never(const struct touched *touched, const struct touched_reading *reading,
		   uint64_t address, uint64_t size, uint64_t birth);

/* Sums of all processes at a moment. */
struct touched_sums {
	size_t processes;        /* processes with a reading; 0: unknown */
	uint64_t least, most;    /* ns: durations of these readings */
	uint64_t pages, touched; /* in mappings with live blocks */
	uint64_t idle_pages;     /* in mappings without a touched page */
};
void touched_sum(const struct touched *touched, uint64_t time, struct touched_sums *out);

#endif
