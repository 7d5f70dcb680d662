/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_series.h: blocks, pages, lines and ranges in use at equal steps through a session.
 *
 * Runs: CLI. Signals: no. Allocates: what page_count.h says. Threads: one.
 */
#ifndef SHINY_PAGE_SERIES_H
#define SHINY_PAGE_SERIES_H

#include "../replay/page_count.h"

struct pages_point {
	uint64_t time, blocks, bytes, pages, lines, ranges;
};
struct page_series {
	struct page_counts counts;
	struct pages_point *points;
	size_t count, done;
	uint64_t duration, last; /* last: time of the moment before */
};

/* Returns an observer that fills in `series`, which is zero but for `count`. `points`: the
 * caller's, with room for `count`. */
struct replay_observer page_series_begin(struct page_series *series, struct pages_point *points,
					 uint64_t duration);
void page_series_deinit(struct page_series *series);

#endif
