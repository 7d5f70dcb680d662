/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.h: finds the phases of a program's heap over time: rises, steady parts, falls and spikes.
 *
 * Runs: CLI. Signals: no. Allocates: at most 100 kB. Threads: any.
 *
 * A pure function of a series: live bytes at the ends of equal intervals, and the most in each. It
 * uses optimal partitioning (Jackson et al. 2005) with Schwarz's penalty (BIC); phases.c explains
 * how, why, and which pieces are rises or spikes. Time: quadratic up to 500 intervals (a few
 * milliseconds), linear beyond, where neighbours are merged.
 */
#ifndef SHINY_PHASES_H
#define SHINY_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum phase_kind {
	PHASE_STEADY, /* live bytes at its end are about those at its beginning, and never far off
		       * in between */
	PHASE_RISE,
	PHASE_FALL,
	PHASE_SPIKE,  /* up and down again */
	PHASE_KINDS
};
extern const char *const phase_kind_names[PHASE_KINDS]; /* "rise" */

/* One interval of a series. */
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

/* Finds the phases. `before`: live bytes at the beginning of the first interval. Returns their
 * number; at least 1 if `count` is not 0. */
size_t phases_find(uint64_t before, const struct phase_sample *samples, size_t count,
		   struct phase_range out[PHASES_MAX]);

#endif
