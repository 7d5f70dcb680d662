/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks.h: what was still there at the end, by type or call site, and which of it was growing. A
 * process that ended before the session's end is looked at when it ends: nobody freed what it held.
 * What exec took away is left out: most of that a fork had brought along.
 *
 * Runs: CLI. Signals: no. Allocates: LEAK_MOMENTS counts a row. Threads: one a store.
 *
 * Nothing in a stream of events says that a block can't be reached any more. What it does say is
 * who keeps making more of something: the count of a row's live blocks is taken at LEAK_MOMENTS
 * moments, evenly over the session, and a line is laid through them (least squares; the first
 * tenth, in which programs set themselves up, is left out). Its slope comes with the standard error
 * of a regression's slope,
 *     se = sqrt(sum (y - a - b x)^2 / (n - 2)) / sqrt(sum (x - mean x)^2)
 * and the row is told to *grow* when the slope is above 0 by more than LEAK_SURE standard errors,
 * and each quarter of the remaining time adds blocks: at least a quarter of what a quarter's share
 * of the whole rise would be. What was made once and kept (a cache, a table), came with one phase
 * of the program, or has levelled off does not grow.
 */
#ifndef SHINY_LEAKS_H
#define SHINY_LEAKS_H

#include "../attribute/groups.h"

enum { LEAK_MOMENTS = 40, LEAK_SURE = 4 };

struct leak_row {
	char *name;
	char *full_name; /* not shortened; NULL: the name is that */
	uint64_t blocks, bytes;       /* that nobody freed until their process ended */
	uint64_t abandoned, abandoned_bytes; /* of these, of processes that ended early */
	uint64_t suppressed;          /* of blocks, left out of the two */
	uint64_t made;                /* blocks of the row in all */
	double slope, slope_error;    /* blocks a second */
	double bytes_slope;           /* bytes a second */
	bool grows;
	uint64_t oldest_ns, youngest_ns; /* births of the live ones */
	uint32_t stack;               /* of the youngest; 0 unknown */
	uint32_t counts[LEAK_MOMENTS];
};
struct leaks {
	struct leak_row *rows; /* growing ones first, by bytes a second; then by bytes */
	size_t count;
	uint64_t blocks, bytes, suppressed, suppressed_bytes;
	uint64_t abandoned, abandoned_bytes; /* of blocks: of processes that exited or were killed
					      * before the session's end */
	uint64_t duration; /* ns */
};

/*
 * `suppressions`: NULL, or the path of a file in LeakSanitizer's syntax: lines "leak:PATTERN", #
 * comments; a pattern matches any part of the name of a function, source file or module of the
 * allocation's stack, * any text, ^ and $ the ends.
 */
SHINY_MUST_CHECK struct shiny_err *leaks_load(struct store *store, const struct filter *filter,
					      enum group_by by, const char *match,
					      const char *suppressions, bool full_names,
					      bool progress, struct leaks *out);
/* Leaves the rows of which `keeps` is true; the sums stay. */
typedef bool leaks_keeps_fn(void *context, const struct leak_row *row);
void leaks_keep(struct leaks *leaks, leaks_keeps_fn *keeps, void *context);
void leaks_deinit(struct leaks *leaks);

#endif
