/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate.h: variances and 95 % intervals of sums that are estimated from a sample (the wire's
 * sample_weight.h).
 *
 * Runs: anywhere. Signals: no. Allocates: nothing. Threads: any.
 *
 * The sum of weights of drawn blocks behaves like a count of sum^2 / variance blocks of equal
 * weights, which has a Poisson distribution. Its interval is that of Jeffreys, quantiles of a gamma
 * distribution of half a block more, by the approximation of Wilson and Hilferty (1931). It holds
 * for few blocks as for many, and is never below 0.
 */
#ifndef SHINY_ESTIMATE_H
#define SHINY_ESTIMATE_H

#include <math.h>
#include <stdint.h>

struct estimate_bounds {
	uint64_t low, high;
};

/* The unit of variances of bytes, in bytes squared: KiB squared. */
#define ESTIMATE_BYTES_UNIT (1024.0 * 1024.0)

/* A row's variance stays as it is beyond this: so many rows of one session can be added up. */
enum { ESTIMATE_MOST_BITS = 50 };

static inline void estimate_add(uint64_t *variance, double more)
{
	double sum = (double)*variance + more, most = (double)(UINT64_C(1) << ESTIMATE_MOST_BITS);

	*variance = (uint64_t)(sum < most ? sum : most);
}

static inline void estimate_remove(uint64_t *variance, uint64_t less)
{
	*variance -= less < *variance ? less : *variance;
}

/* Adds a drawn block of `size` bytes to the variances of a sum of blocks, and of one of their
 * bytes. */
static inline void estimate_vary(uint64_t *blocks, uint64_t *bytes, uint64_t size, uint64_t weight)
{
	double one = (double)weight * (double)(weight - 1), square = (double)size * (double)size;

	estimate_add(blocks, one);
	estimate_add(bytes, ceil(square * one / ESTIMATE_BYTES_UNIT));
}

static inline double estimate_quantile(double shape, double z)
{
	double part = 1 / (9 * shape), root = 1 - part + z * sqrt(part);

	return root > 0 ? shape * root * root * root : 0;
}

/* Returns the interval of `sum`; `variance` 0: it is exact. Of a sum of 0, of which nothing was
 * drawn, the variance is not known: `one` is what a drawn block of its kind adds; 0: the sum is
 * exact. */
static inline struct estimate_bounds estimate_bounds(uint64_t sum, double variance, double one)
{
	static const double z = 1.959964; /* of 2.5 % on each side */
	double count = 0;

	if (sum && variance > 0) {
		count = (double)sum * (double)sum / variance;
		one = (double)sum / count;
	} else if (sum || !(one > 0)) {
		return (struct estimate_bounds){ sum, sum };
	}
	return (struct estimate_bounds){
		count > 0 ? (uint64_t)(estimate_quantile(count + 0.5, -z) * one) : 0,
		(uint64_t)(estimate_quantile(count + 0.5, z) * one)
	};
}

#endif
