/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distribution.h: a histogram of blocks' lifetimes or sizes that keeps seen and unseen ends apart.
 *
 * Runs: CLI. Signals: no. Allocates: two histograms (histogram.h). Threads: one a distribution.
 *
 * A block alive when the recording ended has lived *at least* so long: its lifetime is
 * right-censored. The mean over the dead does not describe such a population, so besides quantiles
 * over the dead there is the Kaplan-Meier estimate of the survival function (E. L. Kaplan, P.
 * Meier: Nonparametric Estimation from Incomplete Observations, JASA 53, 1958):
 *     S(t) = product over bins i up to t of (1 - d_i / n_i), n_i = all with a value in bin i or
 *     above, d_i = those that ended in bin i
 * Within a bin, the censored count as living on.
 */
#ifndef SHINY_DISTRIBUTION_H
#define SHINY_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/log_sum.h"
#include "histogram.h"

struct distribution { /* zeroed: empty */
	struct histogram ended_bins, censored_bins;
	uint64_t ended, censored; /* numbers of values */
	double sum;               /* of the ended */
	struct log_sum logs;      /* of ln(value) of the ended; values of 0 count as 1 */
	uint64_t least, most;     /* of the ended; 0 and 0: none */
	/* of a sample: sums of weight * (weight - 1) of the ended, by bin; else empty */
	struct histogram spread;
};

/* Adds a value of `count` blocks; in a sample, of a block that counts as so many. */
void distribution_add(struct distribution *distribution, uint64_t value, uint64_t count,
		      bool censored);
/* Prefetches the bin of a value. */
void distribution_expect(const struct distribution *distribution, uint64_t value);
void distribution_merge(struct distribution *to, const struct distribution *from);
void distribution_deinit(struct distribution *distribution);

/* Returns a quantile over the ended, known to within a bin (histogram.h); 0: none ended. `q` in
 * 0..1. */
uint64_t distribution_quantile(const struct distribution *distribution, double q);
/*
 * Returns the 95 % interval of a quantile where blocks are a sample; low and high are the ends of
 * its bin if they are not. It reaches from the quantile's bin at the lower end of Wilson's interval
 * (1927) of the share q to that at its upper end (Woodruff 1952), and a block further, as there are
 * whole ones. The share of those that live no
 * longer than x has the variance
 *     ((1 - q)^2 * sum of w (w - 1) of these + q^2 * that of the others) / ended^2
 * and so that of q (1 - q) / variance blocks of equal weights.
 */
struct histogram_range distribution_quantile_range(const struct distribution *distribution,
						   double q);
double distribution_mean(const struct distribution *distribution);
double distribution_geometric_mean(const struct distribution *distribution);

/* Returns the share in 0..1 that lives longer than `value` (to its bin's end), by Kaplan-Meier; 1
 * for an empty distribution. */
double distribution_survival(const struct distribution *distribution, uint64_t value);
/* Returns the smallest value at which survival is at most `share`, known to within a bin;
 * UINT64_MAX: it never is. */
uint64_t distribution_survival_quantile(const struct distribution *distribution, double share);

enum { DISTRIBUTION_OCTAVES = 64 };
/* Sums of eight bins: the values from a power of two on, or 0 and 1. */
struct distribution_octave {
	uint64_t from; /* the least value; 0: of the first octave */
	uint64_t ended, censored;
	double survival; /* the share that lives beyond the octave */
};
struct distribution_octaves {
	struct distribution_octave rows[DISTRIBUTION_OCTAVES]; /* the first and last have values */
	size_t count;
	uint64_t most; /* of `ended` and `censored`; at least 1 */
};
void distribution_octaves(const struct distribution *distribution,
			  struct distribution_octaves *out);

#endif
