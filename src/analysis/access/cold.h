/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cold.h: types and call sites whose live blocks nobody uses.
 *
 * Runs: CLI. Signals: no. Allocates: 24 bytes a watched block. Threads: one a store.
 *
 * Cold bytes of a row: its bytes that were live when its processes ended, times the share of bytes
 * that were not used within a time (use_estimate.h); low and high are those of the share's 95 %
 * interval. The share is of random moments of the times when watching was on, the bytes are of
 * the end.
 *
 * Zombies (state Z of "Shiny Objects", Upadhyay & Venkat, POMACS 10(1):20, 2026) are persistent
 * blocks that nobody uses: the row's live blocks times the share of blocks that were not used
 * within that time, by their first word. Where a block is larger than that they are an upper bound.
 *
 * A row is known by its own watched blocks only. Where there are none, nothing is claimed: its
 * bytes are counted as unknown. A session without accesses has no row at all.
 */
#ifndef SHINY_COLD_H
#define SHINY_COLD_H

#include "../attribute/groups.h"
#include "../query/access_times.h"
#include "use_estimate.h"

enum { COLD_TIMES = 3, COLD_WATCHES = 20 };
extern const uint64_t cold_times[COLD_TIMES]; /* 100 ms, 1 s, 10 s */

struct cold_row {
	char *name;
	char *full_name; /* not shortened; NULL: the name is that */
	uint64_t live, live_bytes; /* blocks that nobody freed until their process ended */
	uint64_t watched, reads, writes; /* watched blocks; first uses among them */
	uint64_t untouched; /* ns: the longest that one was watched and not used */
	struct use_share blocks[COLD_TIMES], bytes[COLD_TIMES]; /* used within each time */
	double cold, cold_low, cold_high; /* bytes */
	double zombies, zombies_low, zombies_high; /* blocks */
};
struct cold_zombies { /* of all rows with watched blocks */
	double about, low, high; /* blocks */
	uint64_t known;          /* persistent blocks of these rows */
};
struct cold {
	struct cold_row *rows; /* by cold_low, then by cold */
	size_t count;
	unsigned within;    /* index in cold_times of what the rows' cold bytes are for */
	bool recorded;      /* accesses were; else all is unknown */
	struct access_times on; /* when; what is estimated is about these times */
	uint64_t watched;
	struct use_share blocks[COLD_TIMES], bytes[COLD_TIMES]; /* of all rows together */
	uint64_t live_bytes, unknown_bytes; /* unknown: of rows without a watched block */
};

/*
 * `by`: GROUP_TYPE or GROUP_SITE. `within`: an index in cold_times; COLD_TIMES: the longest that
 * COLD_WATCHES watches say something about, or the shortest.
 */
SHINY_MUST_CHECK struct shiny_err *cold_load(struct store *store, const struct filter *filter,
					     enum group_by by, const char *match, bool full_names,
					     unsigned within, struct cold *out);
void cold_deinit(struct cold *cold);
/* Whether any block was: nothing can be said of a session without, and cold_load reads all its
 * statistics. */
SHINY_MUST_CHECK struct shiny_err *cold_watched(struct store *store, bool *watched);

struct cold_zombies cold_zombies(const struct cold *cold);
/* From now on rows come by name, and can be found. NULL: there is none of that name. */
void cold_sort_by_name(struct cold *cold);
const struct cold_row *cold_find(const struct cold *cold, const char *name);

#endif
