/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker.h: what happens over time to sets of a breakdown's cells: the most that they held at
 * once, and how long their blocks lived.
 *
 * Runs: CLI. Signals: no. Allocates: two distributions a tracker that asks for lifetimes
 * (distribution.h), 128 bytes a stack, 4 a live block, and what replay.h says. Threads: one a
 * store, and another of its own for trackers (change_queue.h).
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

#include "breakdown.h"
#include "../query/distribution.h"
#include "../attribute/suppressions.h"

struct tracker {
	bool lifetimes;             /* asked for: ages and steps */
	uint64_t bytes, blocks;     /* live now */
	uint64_t peak_bytes, peak_time;
	uint64_t episodes;
	uint64_t leaks, leaked_bytes; /* blocks live at the end of their process, that it made
	                               * itself, and that nothing hides */
	struct distribution ages, steps;
	/* What makes up a peak that is known already: when this one first has `target` bytes, what
	 * its parts have. */
	uint64_t target;            /* 0: not asked for */
	size_t parts, part_count;   /* places of other trackers */
	uint64_t at_target;         /* of a part */
};
struct trackers {
	const struct suppressions *hidden; /* stacks whose blocks are no leaks; NULL none */
	struct tracker *at;
	size_t count;
	uint32_t *first; /* [cells + 1]: cell i is tracked by of[first[i]] to of[first[i + 1] -
			  * 1] */
	uint32_t *of;
};
void trackers_deinit(struct trackers *trackers);

/* `title`: for the progress line; NULL none. */
SHINY_MUST_CHECK struct shiny_err *tracker_run(struct store *store, const struct filter *filter,
					       const struct breakdown *breakdown,
					       struct trackers *trackers, const char *title);

#endif
