/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h: finds the differences between two sessions, by type, call site, component or process
 * role.
 *
 * Runs: CLI. Signals: no. Allocates: what breakdown.h, match.h and tracker.h say, for both
 * sessions. Threads: one a store.
 *
 * Rows are matched by names (match.h). A row is different if its number of blocks, their bytes,
 * those live at the end, its peak, the size of its blocks or their lifetimes are. Where a side is a
 * sample (SHINY_SAMPLE), a change within the 95 % interval of the difference is none, and lifetimes
 * are not compared.
 *
 *   live      bytes live at the end (of each process)
 *   peak      most bytes live at once; needs events
 *   bytes     requested in all
 *   blocks    allocations
 *   size      of a block, if all blocks of the row have one size in each session
 *   lifetime  p50 over blocks that ended, in blocks allocated meanwhile (tracker.h): different when
 *             that is, by a quarter of an octave; by the clock only when the whole distribution
 *             moved: p10 of one is over four times the p90 of the other and its p50 0.1 ms more,
 *             over DIFF_EPISODES episodes each, beyond the factor by which the machine was slower
 *             (the median of rows whose blocks saw as many others meanwhile). Needs events
 *
 * Ranks order the rows by importance, growth before shrinking. Two runs of one program differ too,
 * each row by chance and in proportion to what it has. So a change counts by its share of the row:
 * for n and m, (m - n) |m - n| / (m + n), which is the square of the difference over its variance
 * if n and m are Poisson's; in the measure's unit. The rank of a size is its change times the newer
 * session's blocks; that of a lifetime the change in octaves times log2 of the blocks.
 */
#ifndef SHINY_DIFF_H
#define SHINY_DIFF_H

#include "match.h"
#include "tracker.h"

enum diff_measure {
	DIFF_LIVE,
	DIFF_PEAK,
	DIFF_BYTES,
	DIFF_BLOCKS,
	DIFF_SIZE,
	DIFF_LIFETIME,
	DIFF_MEASURES
};
extern const char *const diff_measure_names[DIFF_MEASURES];
enum { DIFF_EPISODES = 8 };

struct diff_side {
	uint32_t members;     /* number of names of the session in this row; 0: not there */
	bool timed;           /* peaks and lifetimes are known */
	struct sums sums;
	uint64_t size;        /* of each block; 0: sizes differ, or there are no blocks */
	uint64_t peak_bytes;
	uint64_t ended, p50_ns, p50_steps; /* of blocks that ended */
	uint64_t p10_ns, p90_ns, episodes;
};
struct diff_row {
	char *name;
	char *full_name; /* not shortened, of a type or call site; NULL: same as `name` */
	enum match_how how;
	bool label;                 /* the name is a label, no type */
	struct diff_side sides[2];  /* base, new */
	double ranks[DIFF_MEASURES]; /* > 0: more in the newer session; 0: no difference */
	uint32_t places[DIFF_MEASURES]; /* rank of the row by each measure, from 1; 0: no
					 * difference */
	char *mostly;               /* for types the call site, else the type, that changed most;
				     * NULL: none */
};
struct diff_session {
	struct sums sums;
	uint64_t peak_bytes, duration, processes, lost;
	bool complete, with_events;
};
struct diff {
	struct diff_row *rows;      /* the different ones, by the requested measure, then by name */
	size_t count, same;         /* same: number of rows in both sessions without a difference */
	size_t counts[DIFF_MEASURES]; /* number of rows with a rank in each measure */
	struct diff_session sessions[2];
	bool with_events;           /* both sessions have events */
	bool timed;                 /* peaks and lifetimes are known */
	uint64_t sites[MATCH_HOWS]; /* number of call site rows by how they matched */
};

struct diff_request {
	enum breakdown_by by;
	const struct component_rules *rules; /* for components; else NULL */
	const char *match;                   /* pattern of row names (text_matches()); NULL: all */
	enum diff_measure order;             /* order of the rows */
	/* Skips peaks and lifetimes: no pass over the events, except for tags or an interval. Rows
	 * that differ only in these are the same. */
	bool sums_only;
	bool full_names, progress;
};
/* True if a measure is a sum in the session's tables; the others need events. */
bool diff_is_sum(enum diff_measure measure);

/* Compares two sessions. `stores` and `filters`: base, new. */
SHINY_MUST_CHECK struct shiny_err *diff_load(struct store *const stores[2],
					     const struct filter filters[2],
					     const struct diff_request *request, struct diff *out);
void diff_deinit(struct diff *diff);

extern const struct field diff_fields[]; /* of struct diff, without the sessions */

#endif
