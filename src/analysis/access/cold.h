/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cold.h: types and call sites whose live blocks the program does not use.
 *
 * Runs: CLI. Signals: no. Allocates: 24 bytes a watched block. Threads: one a store.
 *
 * Cold bytes of a row are its bytes live when its processes ended, times the share of bytes not
 * used within a time (use_estimate.h); low and high use the share's 95 % interval. The share is of
 * random moments while watching was on, the bytes are of the end.
 *
 * Zombies (state Z of "Shiny Objects", Upadhyay & Venkat, POMACS 10(1):20, 2026) are persistent
 * blocks without use: the row's live blocks times the share of blocks not used within that time, by
 * their first word. For blocks larger than a word this is an upper bound.
 *
 * A row rests on its own watched blocks only: without any, its bytes count as unknown. A session
 * without accesses has no rows.
 */
#ifndef SHINY_COLD_H
#define SHINY_COLD_H

#include "../../answer/field.h"
#include "../attribute/groups.h"
#include "../query/access_times.h"
#include "use_estimate.h"

enum { COLD_TIMES = 3, COLD_WATCHES = 20 };
extern const uint64_t cold_times[COLD_TIMES]; /* 100 ms, 1 s, 10 s */

struct cold_row {
	char *name;
	char *full_name; /* not shortened; NULL: same as `name` */
	uint64_t live, live_bytes; /* blocks not freed when their process ended */
	uint64_t watched, reads, writes; /* watched blocks; their first uses by kind */
	uint64_t untouched; /* ns; the longest watch without a use */
	struct use_share blocks[COLD_TIMES], bytes[COLD_TIMES]; /* share used within each time */
	unsigned within; /* as in struct cold */
	double cold, cold_low, cold_high; /* bytes */
	bool known; /* `cold` rests on watches */
	double zombies, zombies_low, zombies_high; /* blocks */
};
struct cold_zombies { /* sums of all rows with watched blocks */
	double about, low, high; /* blocks */
	uint64_t known;          /* persistent blocks of these rows */
};
struct cold {
	struct cold_row *rows; /* sorted by cold_low, then cold, falling */
	size_t count;
	unsigned within;    /* index in cold_times that the rows' cold bytes refer to */
	bool recorded;      /* accesses were recorded; false: all is unknown */
	struct access_times on; /* times of watching, to which the estimates refer */
	uint64_t watched;
	struct use_share blocks[COLD_TIMES], bytes[COLD_TIMES]; /* of all rows together */
	uint64_t live_bytes, unknown_bytes; /* unknown: bytes of rows without a watched block */
};

/* `by`: GROUP_TYPE or GROUP_SITE. `within`: an index in cold_times; COLD_TIMES selects the longest
 * time that at least COLD_WATCHES watches cover, or the shortest. */
SHINY_MUST_CHECK struct shiny_err *cold_load(struct store *store, const struct filter *filter,
					     enum group_by by, const char *match, bool full_names,
					     unsigned within, struct cold *out);
void cold_deinit(struct cold *cold);
/* Sets *watched if any block was. Check before cold_load(), which reads all statistics of a session
 * even if no estimate is possible. */
SHINY_MUST_CHECK struct shiny_err *cold_watched(struct store *store, bool *watched);

struct cold_zombies cold_zombies(const struct cold *cold);
/* Sorts the rows by name, as cold_find() requires; that returns NULL if there is no such name. */
void cold_sort_by_name(struct cold *cold);
const struct cold_row *cold_find(const struct cold *cold, const char *name);

extern const struct field cold_fields[]; /* of struct cold */

#endif
