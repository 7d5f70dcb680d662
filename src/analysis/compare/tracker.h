/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker.h: what happens over time to sets of a breakdown's cells: the most that they held at
 * once, and how long their blocks lived.
 *
 * Runs: CLI. Signals: no. Allocates: 160 bytes a tracker, two histograms for one that asks for
 * lifetimes (histogram.h), 32 bytes a set, 64 bytes a stack, and what replay.h says. Threads: one
 * a store, and another of its own for trackers (change_queue.h).
 *
 *   peak      most live bytes of the set at once, over all processes: `shinyctl help definitions`.
 *             As in peak.h
 *   age       of a block, from its birth to its end, ns. Blocks that a fork brought along belong to
 *             where they began, and are not counted again
 *   steps     the same in blocks that its process allocated meanwhile. Wall clocks tell of the
 *             machine too; these are the same on a slow one, and wherever a program does the same
 *             things in the same order. Collectors' lifetimes are measured so for the same reason
 *   episode   from the first block after there was none to the last one's end: what disturbs one
 *             episode, such as a machine that stands still, does not disturb another
 *
 * Cost: one pass over the events (replay.h), with one look into a table of stacks for each that
 * begins or ends a block, and what is added to each of the block's trackers.
 */
#ifndef SHINY_TRACKER_H
#define SHINY_TRACKER_H

#include <stdalign.h>

#include "breakdown.h"
#include "../query/histogram.h"
#include "../attribute/suppressions.h"

struct tracker {
	alignas(64) uint64_t bytes; /* live now; this line is touched by every change */
	uint64_t blocks;            /* likewise */
	uint64_t peak_bytes, episodes;
	uint64_t leaks, leaked_bytes; /* blocks live at the end of their process, that it made
	                               * itself, and that nothing hides */
	/* What makes up a peak that is known already: when this one first has `target` bytes, what
	 * its parts have. */
	uint64_t target;            /* 0: not asked for */
	bool lifetimes;             /* asked for: ages and steps, of blocks that ended */
	alignas(64) struct histogram ages;
	struct histogram steps;
	size_t parts, part_count;   /* places of other trackers */
	uint64_t at_target;         /* of a part */
};
/* Of blocks that ended; the least above the most: there are none. */
struct tracker_extent { uint64_t least_age, most_age, least_steps, most_steps; };
struct trackers {
	const struct suppressions *hidden; /* stacks whose blocks are no leaks; NULL none */
	struct tracker *at;
	struct tracker_extent *extents; /* a tracker each */
	size_t count, sets;
	uint32_t *set_of; /* a cell each: by which set of trackers it is tracked */
	uint32_t *first;  /* [sets + 1]: set i is of[first[i]] to of[first[i + 1] - 1] */
	uint32_t *of;
};
/* Trackers and room for `sets`, which hold `members` in all, of so many cells; all is zero. */
void trackers_init(struct trackers *trackers, size_t count, size_t cells, size_t sets,
		   size_t members);
/* A quantile of a tracker's ages, or of its steps. */
struct histogram_range trackers_age(const struct trackers *trackers, size_t tracker, double q);
struct histogram_range trackers_steps(const struct trackers *trackers, size_t tracker, double q);
void trackers_deinit(struct trackers *trackers);

/* `title`: for the progress line; NULL none. */
SHINY_MUST_CHECK struct shiny_err *tracker_run(struct store *store, const struct filter *filter,
					       const struct breakdown *breakdown,
					       struct trackers *trackers, const char *title);

#endif
