/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h: what is different between two sessions, by type, call site, component or process role.
 *
 * Runs: CLI. Signals: no. Allocates: what breakdown.h, match.h and tracker.h say, for both
 * sessions. Threads: one a store.
 *
 * Rows are matched by names (match.h). A row is different when its number of blocks, their bytes,
 * what of them is live at the end, its peak, the size of its blocks or their lifetimes are.
 *
 *   live      bytes live at the end (of each process)
 *   peak      most bytes live at once; needs events
 *   bytes     requested in all
 *   blocks    allocations
 *   size      of a block, where all of the row's have the same in each session
 *   lifetime  p50 over blocks that ended, in blocks allocated meanwhile (tracker.h): different when
 *             that is, by a quarter of an octave; by the clock only when the whole distribution
 *             moved: p10 of one is over four times the p90 of the other and 0.1 ms more, over
 *             DIFF_EPISODES episodes each, beyond the factor by which the machine was slower (the
 *             median of rows whose blocks saw as many others meanwhile). Needs events
 *
 * Ranks say what to look at first, growth before shrinking. Two runs of one program differ too,
 * each row by chance and in proportion to what it has. So a change counts by the share that it is
 * of its row: of n and m, (m - n) |m - n| / (m + n), which is the square of the difference over its
 * variance if n and m are Poisson's; in the measure's unit. Of sizes the rank is the bytes that the
 * change makes over the newer session's blocks; of lifetimes the change in octaves times log2 of
 * the blocks.
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
	struct sums sums;
	uint64_t size;        /* of a block; 0: they differ, or there are none */
	uint64_t peak_bytes;
	uint64_t ended, p50_ns, p50_steps; /* of blocks that ended */
	uint64_t p10_ns, p90_ns, episodes;
};
struct diff_row {
	char *name;
	char *full_name; /* not shortened, of a type or call site; NULL: the name is that */
	enum match_how how;
	bool label;                 /* the name is words, no type */
	uint32_t members[2];        /* names of each session that it stands for; 0: it is not
	                             * there */
	struct diff_side sides[2];  /* base, new */
	double ranks[DIFF_MEASURES]; /* > 0: more in the newer one; 0: no difference */
	uint32_t places[DIFF_MEASURES]; /* among the rows of each measure, by rank, from 1; 0: no
	                                 * difference */
	char *mostly;               /* of types the call site, of others the type, whose blocks and
	                             * bytes changed most; NULL none */
};
struct diff_session {
	struct sums sums;
	uint64_t peak_bytes, duration, processes, lost;
	bool complete, with_events;
};
struct diff {
	struct diff_row *rows;      /* those that are different; by the measure asked for, then by
	                             * name */
	size_t count, same;         /* same: rows that are in both and not different */
	size_t counts[DIFF_MEASURES]; /* rows that have a place in each measure */
	struct diff_session sessions[2];
	bool with_events;           /* both sessions have them */
	bool timed;                 /* peaks and lifetimes are known */
	uint64_t sites[MATCH_HOWS]; /* how call sites were matched, in rows */
};

struct diff_request {
	enum breakdown_by by;
	const struct component_rules *rules; /* for components, else NULL */
	const char *match;                   /* text_matches() on the row's name; NULL all */
	enum diff_measure order;             /* of the rows */
	/* Peaks and lifetimes are not asked for: no events are gone through, but those of a tag or
	 * an interval, and a row that differs in nothing else is the same. */
	bool sums_only;
	bool full_names, progress;
};
/* Whether a measure is a sum, which the session holds; the others need events. */
bool diff_is_sum(enum diff_measure measure);

/* `stores` and `filters`: base, new. */
SHINY_MUST_CHECK struct shiny_err *diff_load(struct store *const stores[2],
					     const struct filter filters[2],
					     const struct diff_request *request, struct diff *out);
void diff_deinit(struct diff *diff);

#endif
