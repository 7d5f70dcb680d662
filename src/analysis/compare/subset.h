/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subset.h: the sums of a session for the blocks of an interval or of tags alone.
 *
 * Runs: CLI. Signals: no. Allocates: what replay.h says, and by rows: 160 bytes one of table stat,
 * 48 a bin of a lifetime, 48 a page with live blocks, 72 an interval and process in which something
 * happened; then the rows again, in temporary tables. Threads: one a store.
 *
 * The sidecar keeps sums of a whole session. They do not tell the blocks that were born between two
 * marks, and tables lifetime, page and bucket know no tags. So subset_open goes through the events
 * and makes these tables again for the blocks of a filter. It puts them into a second store of the
 * session, as temporary tables, which SQL finds before the file's own. The store that a function
 * gets says which blocks its sums are of: what reads sums (totals.h, hotspots.h, types.h, sites.h,
 * component.h, breakdown.h) tells the filter's blocks from the one, all blocks from the other, by
 * the same queries. The file is not written to.
 *
 *   SUBSET_STAT  stat
 *   SUBSET_ALL   stat, site_stat, lifetime, page, bucket (SUBSET_BUCKETS a session); of an
 *                interval peak is empty: stacks' own peaks are not made again
 *
 * The same in both stores: processes and threads themselves, how many events came, what was lost.
 * A row's `reading` is the file's.
 *
 * Cost: one pass over the events. replay.h wants the session's own store: it asks table stat for
 * types.
 */
#ifndef SHINY_SUBSET_H
#define SHINY_SUBSET_H

#include "../query/filter.h"

enum subset { SUBSET_STAT, SUBSET_ALL };
enum { SUBSET_BUCKETS = 2000 };

/* `title`: for the progress line; NULL none. An error where the session has no events. The caller
 * closes `out`. */
SHINY_MUST_CHECK struct shiny_err *subset_open(struct store *store, const struct filter *filter,
					       enum subset what, const char *title,
					       struct store **out);

#endif
