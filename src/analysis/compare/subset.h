/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subset.h: computes a session's sums for the blocks of an interval or of tags only.
 *
 * Runs: CLI. Signals: no. Allocates: what replay.h says, and by rows: 160 bytes one of table stat,
 * 48 a bin of a lifetime, 48 a page with live blocks, 72 an interval and process in which something
 * happened; then the rows again, in temporary tables. Threads: one a store.
 *
 * The sidecar keeps sums of a whole session. They have no sums of the blocks born between two
 * marks, and tables lifetime, page and bucket have no tags. So subset_open reads the events and
 * builds these tables again for the blocks of a filter, in a second store of the session, as
 * temporary tables, which SQL finds before the file's own. The store that a function gets decides
 * which blocks its sums are of: readers of sums (totals.h, hotspots.h, types.h, sites.h,
 * component.h, breakdown.h) get the filter's blocks from this one, all blocks from the other, by
 * the same queries. The file is not written to.
 *
 *   SUBSET_STAT  stat
 *   SUBSET_ALL   stat, site_stat, lifetime, page, bucket (SUBSET_BUCKETS a session); peak is empty
 *                for an interval: stacks' own peaks are not computed again
 *
 * Both stores have the same processes, threads, numbers of events and losses. A row's `reading` is
 * the file's.
 *
 * Cost: one pass over the events. replay.h needs the session's own store, as it reads types from
 * table stat.
 */
#ifndef SHINY_SUBSET_H
#define SHINY_SUBSET_H

#include "../query/filter.h"

enum subset { SUBSET_STAT, SUBSET_ALL };
enum { SUBSET_BUCKETS = 2000 };

/* Builds the tables. `title`: of the progress line; NULL: none. A session without events is an
 * error. The caller closes `out`. */
SHINY_MUST_CHECK struct shiny_err *subset_open(struct store *store, const struct filter *filter,
					       enum subset what, const char *title,
					       struct store **out);

#endif
