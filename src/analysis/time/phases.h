/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.h: the phases of a program's heap over time: where it rises, stays, falls, and where it
 * rises only to fall again.
 *
 * Runs: CLI. Signals: no. Allocates: at most 100 kB. Threads: any.
 *
 * A pure function of a series: live bytes at the ends of equal intervals, and the most in each.
 * Changes are found by optimal partitioning (Jackson et al. 2005) with Schwarz's penalty (BIC);
 * phases.c tells how, why so, and what makes a piece a rise or a spike. Time: quadratic up to 500
 * intervals (a few milliseconds), linear behind that, where neighbours are put together.
 */
#ifndef SHINY_PHASES_H
#define SHINY_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum phase_kind {
	PHASE_STEADY, /* live bytes are at its end about what they were at its beginning, and never
	               * far from it */
	PHASE_RISE,
	PHASE_FALL,
	PHASE_SPIKE,  /* up and down again */
	PHASE_KINDS
};
extern const char *const phase_kind_names[PHASE_KINDS]; /* "rise" */

/* One interval of a series, as far as phases are concerned. */
struct phase_sample {
	uint64_t bytes;  /* live at its end */
	uint64_t most;   /* live at most in it */
};

/* Intervals `first` to `last`, both included. Phases follow each other without a gap. */
struct phase_range {
	enum phase_kind kind;
	size_t first, last;
};

enum { PHASES_MAX = 16 };

/* `before`: live bytes at the beginning of the first interval. Returns how many; at least 1 where
 * `count` is not 0. */
size_t phases_find(uint64_t before, const struct phase_sample *samples, size_t count,
		   struct phase_range out[PHASES_MAX]);

#endif
