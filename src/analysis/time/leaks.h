/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks.h: lists the blocks left at the end, by type or call site, and finds rows that grow. A
 * process that ended before the session counts with its blocks at its end, which it did not free.
 * Blocks that exec took away are left out: most of them are a fork's copies.
 *
 * Runs: CLI. Signals: no. Allocates: LEAK_MOMENTS counts a row, and while it loads three times as
 * many. Threads: one a store.
 *
 * A stream of events does not show that a block is unreachable. It shows which rows keep growing. A
 * row's live blocks are counted at moments, evenly over the session by each of two clocks: the
 * time, and the program's allocations. The second one stands still while the program sleeps or
 * another process has the processor, so a run of 50 ms has as good a curve as one of a day; the
 * first one does not run ahead where another part of the program allocates much.
 *
 * The row *grows* if its curve by one of the clocks rises throughout, and the second half of the
 * time has at least 1/LEAK_ADDS of the rise:
 *   - A line that is fitted to the counts (least squares; the first tenth, in which programs set
 *     themselves up, is left out) has a slope above 0 by more than LEAK_SURE standard errors:
 *         se = sqrt(sum (y - a - b x)^2 / (n - 2)) / sqrt(sum (x - mean x)^2)
 *   - Each quarter of the rest adds at least 1/LEAK_ADDS of the rise: a quarter of its share.
 * A row that was filled once (a cache, a table), came with one phase of the program, or has
 * levelled off does not grow. Rows that grow alike are judged alike: a row whose counts over the
 * time, as shares of its rise, are never further than 1/LEAK_ALIKE from those of a row that grows,
 * grows too.
 */
#ifndef SHINY_LEAKS_H
#define SHINY_LEAKS_H

#include "../../answer/estimated.h"
#include "../attribute/groups.h"

enum { LEAK_MOMENTS = 40, LEAK_SURE = 4, LEAK_ADDS = 16, LEAK_ALIKE = 20 };

struct leak_row {
	char *name;
	char *full_name; /* not shortened; NULL: same as `name` */
	struct estimated left;        /* not freed until their process ended */
	uint64_t abandoned, abandoned_bytes; /* those of processes that ended early */
	uint64_t suppressed;          /* suppressed blocks, which the others leave out */
	uint64_t made;                /* all blocks of the row */
	double slope, slope_error;    /* blocks a second */
	double bytes_slope;           /* bytes a second */
	bool grows;
	uint64_t oldest_ns, youngest_ns; /* births of the live ones */
	uint32_t stack;               /* of the youngest block; 0: unknown */
	uint32_t counts[LEAK_MOMENTS];
};
struct leaks {
	struct leak_row *rows; /* growing ones first, by bytes a second; then by bytes */
	size_t count;
	struct estimated left;
	uint64_t suppressed, suppressed_bytes;
	uint64_t abandoned, abandoned_bytes; /* those of processes that exited or were killed before
					      * the session's end */
	uint64_t duration; /* ns */
};

/*
 * Loads the rows. `suppressions`: NULL, or a file in LeakSanitizer's syntax: lines "leak:PATTERN",
 * # comments; a pattern matches any part of the name of a function, source file or module of the
 * allocation's stack, * any text, ^ and $ the ends.
 */
SHINY_MUST_CHECK struct shiny_err *leaks_load(struct store *store, const struct filter *filter,
					      enum group_by by, const char *match,
					      const char *suppressions, bool full_names,
					      bool progress, struct leaks *out);
/* Keeps only the rows for which `keeps` returns true; the sums stay. */
typedef bool leaks_keeps_fn(void *context, const struct leak_row *row);
void leaks_keep(struct leaks *leaks, leaks_keeps_fn *keeps, void *context);
void leaks_deinit(struct leaks *leaks);

extern const struct field leaks_fields[]; /* of struct leaks */

#endif
