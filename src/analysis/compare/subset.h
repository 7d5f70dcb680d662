/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subset.h: the sums of a session as they are of the blocks of an interval or of tags alone.
 *
 * Runs: CLI. Signals: no. Allocates: what replay.h says, and by rows: 160 bytes one of table stat,
 * 48 a bin of a lifetime, 48 a page with live blocks, 72 an interval and process in which something
 * happened; then the rows again, in temporary tables. Threads: one a store.
 *
 * The sidecar keeps sums of a whole session. What was born between two marks is in none of them,
 * and tables lifetime, page and bucket know no tags. So the events are gone through, and all these
 * are made again for what the filter is about, as temporary tables of the same names. SQL finds a
 * temporary table before the file's own: what reads sums (totals.h, hotspots.h, types.h, sites.h,
 * component.h, breakdown.h) says of the filter's blocks what it says of all otherwise, by the same
 * queries. The file is not written to.
 *
 *   SUBSET_STAT  stat
 *   SUBSET_ALL   stat, site_stat, lifetime, page, bucket (SUBSET_BUCKETS a session); of an
 *                interval peak is empty: stacks' own peaks are not made again
 *
 * Not of the blocks, and so as they are: processes and threads themselves, how many events came,
 * what was lost. A row's `reading` is the file's.
 *
 * Cost: one pass over the events. replay.h must not be run on the store from subset_begin to
 * subset_end: it asks table stat for types.
 */
#ifndef SHINY_SUBSET_H
#define SHINY_SUBSET_H

#include "../query/filter.h"

enum subset { SUBSET_STAT, SUBSET_ALL };
enum { SUBSET_BUCKETS = 2000 };

/* `title`: for the progress line; NULL none. An error where the session has no events. */
SHINY_MUST_CHECK struct shiny_err *subset_begin(struct store *store, const struct filter *filter,
						enum subset what, const char *title);
/* The sums are those of the whole session again. */
SHINY_MUST_CHECK struct shiny_err *subset_end(struct store *store);

#endif
