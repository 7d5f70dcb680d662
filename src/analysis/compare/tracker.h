/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker.h: follows sets of a breakdown's cells over time: their peak, and their blocks'
 * lifetimes.
 *
 * Runs: CLI. Signals: no. Allocates: 160 bytes a tracker, two histograms for one with `lifetimes`
 * (histogram.h), 32 bytes a set, 64 bytes a stack, and what replay.h says. Threads: one a store,
 * and another of its own for trackers (change_queue.h).
 *
 *   peak      most live bytes of the set at once, over all processes: `shinyctl help definitions`.
 *             As in peak.h
 *   age       of a block, from its birth to its end, ns. Blocks that a fork copied count where they
 *             began only
 *   steps     the same in blocks that its process allocated meanwhile. Wall clocks depend on the
 *             machine; steps are the same on a slow one, and whenever a program does the same in
 *             the same order. Collectors' lifetimes are measured so for the same reason
 *   episode   from the first block after none to the last one's end: a disturbance of one episode,
 *             such as a machine that stands still, does not affect another
 *
 * Cost: one pass over the events (replay.h), with one look-up in a table of stacks for each that
 * begins or ends a block, and an addition to each of the block's trackers.
 */
#ifndef SHINY_TRACKER_H
#define SHINY_TRACKER_H

#include <stdalign.h>

#include "breakdown.h"
#include "../query/histogram.h"
#include "../attribute/suppressions.h"

struct tracker {
	alignas(64) uint64_t bytes; /* live bytes; every change touches this cache line */
	uint64_t blocks;            /* live blocks */
	uint64_t peak_bytes, episodes;
	uint64_t leaks, leaked_bytes; /* blocks live at the end of their process: allocated by it,
				       * not suppressed */
	/* When this tracker first has `target` bytes, its parts copy their bytes to at_target: the
	 * parts of a peak that an earlier pass found. */
	uint64_t target;            /* bytes; 0: none */
	bool lifetimes;             /* count ages and steps, of blocks that ended */
	alignas(64) struct histogram ages;
	struct histogram steps;
	size_t parts, part_count;   /* indexes of other trackers: the first, and their number */
	uint64_t at_target;         /* of a part */
};
/* Bounds of blocks that ended; least above most: none ended. */
struct tracker_extent { uint64_t least_age, most_age, least_steps, most_steps; };
struct trackers {
	const struct suppressions *hidden; /* stacks whose blocks are no leaks; NULL: none */
	struct tracker *at;
	struct tracker_extent *extents; /* one for each tracker */
	size_t count, sets;
	uint32_t *set_of; /* cell → its set of trackers */
	uint32_t *first;  /* [sets + 1]: set i is of[first[i]] to of[first[i + 1] - 1] */
	uint32_t *of;
};
/* Makes `count` trackers and room for `sets` with `members` trackers in all, for this many cells.
 * All is zero; the caller fills it in. */
void trackers_init(struct trackers *trackers, size_t count, size_t cells, size_t sets,
		   size_t members);
/* Return a quantile of a tracker's ages, or of its steps. */
struct histogram_range trackers_age(const struct trackers *trackers, size_t tracker, double q);
struct histogram_range trackers_steps(const struct trackers *trackers, size_t tracker, double q);
void trackers_deinit(struct trackers *trackers);

/* Follows the session. `title`: of the progress line; NULL: none. */
SHINY_MUST_CHECK struct shiny_err *tracker_run(struct store *store, const struct filter *filter,
					       const struct breakdown *breakdown,
					       struct trackers *trackers, const char *title);

#endif
