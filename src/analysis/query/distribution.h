/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distribution.h: how long blocks live, or how large they are: a histogram in which ends that were
 * seen and ends that were not are kept apart.
 *
 * Runs: CLI. Signals: no. Allocates: two histograms (histogram.h). Threads: one a distribution.
 *
 * A block that was alive when the recording ended has lived *at least* so long: its lifetime is
 * right-censored. The mean over the dead says nothing about such a population, so besides quantiles
 * over the dead there is the Kaplan-Meier estimate of the survival function (E. L. Kaplan, P.
 * Meier: Nonparametric Estimation from Incomplete Observations, JASA 53, 1958):
 *     S(t) = product over bins i up to t of (1 - d_i / n_i), n_i = all with a value in bin i or
 *     above, d_i = those that ended in bin i
 * In one bin the censored are taken to have lived on.
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
	uint64_t ended, censored; /* values in all */
	double sum;               /* over the ended */
	struct log_sum logs;      /* likewise, of ln(value), values of 0 taken as 1 */
	uint64_t least, most;     /* likewise, of the values; 0 and 0: there are none */
};

void distribution_add(struct distribution *distribution, uint64_t value, bool censored);
/* That value will be added soon: its bin is fetched into the cache. */
void distribution_expect(const struct distribution *distribution, uint64_t value);
void distribution_merge(struct distribution *to, const struct distribution *from);
void distribution_deinit(struct distribution *distribution);

/* Over the ended, as histogram.h says: known to within a bin. 0 if there are none. `q` in 0..1. */
uint64_t distribution_quantile(const struct distribution *distribution, double q);
double distribution_mean(const struct distribution *distribution);
double distribution_geometric_mean(const struct distribution *distribution);

/* Share in 0..1 that lives longer than `value` (to its bin's end), by Kaplan-Meier; 1 for an empty
 * distribution. */
double distribution_survival(const struct distribution *distribution, uint64_t value);
/* The smallest value at which survival is at most `share`, known to within a bin; UINT64_MAX: it
 * never falls so far. */
uint64_t distribution_survival_quantile(const struct distribution *distribution, double share);

/* Whole octaves, of which the bins are eighths: [0] holds 0 and 1, [k] those from 2^k on. */
enum { DISTRIBUTION_OCTAVES = 64 };
struct distribution_octave { uint64_t ended, censored; };
void distribution_octaves(const struct distribution *distribution,
			  struct distribution_octave octaves[DISTRIBUTION_OCTAVES]);

#endif
