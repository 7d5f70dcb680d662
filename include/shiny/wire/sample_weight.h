/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_weight.h: how many blocks one block of a sample stands for. Both sides work it out from
 * the block's size and the ring's mean, so that neither records nor session files have it.
 *
 * Runs: both sides. Signals: safe. Allocates: nothing. Threads: any.
 *
 * Points lie on the bytes that a thread allocates, at exponential distances of `mean` bytes (a
 * Poisson process), so a point meets a block of `size` bytes with probability 1 - exp(-size /
 * mean). Of the blocks that are met, so many are drawn that a block is in the sample with
 * probability 1 / weight, where `weight` is the next whole number above the inverse of the first
 * probability. A block of `mean` bytes and more is always in the sample. So sums of weights and of
 * weights times values are unbiased (Horvitz and Thompson, 1952), and are whole numbers: a block of
 * a sample counts as `weight` equal ones everywhere. The variance of such a sum is estimated,
 * without bias, by the sum of value^2 * weight * (weight - 1).
 *
 * With SHINY_BUDGET the sidecar changes the rate: the header's `sample_level` says how often the
 * ring's mean is doubled. Each thread follows when it draws its next distance, which the process's
 * lack of memory allows at any moment, and its stream's TAG records say from which block on.
 */
#ifndef SHINY_SAMPLE_WEIGHT_H
#define SHINY_SAMPLE_WEIGHT_H

#include <stdint.h>

/* The least and the greatest mean, bytes. */
#define SHINY_SAMPLE_LEAST UINT64_C(1024)
#define SHINY_SAMPLE_MOST (UINT64_C(16) << 20)

/* Levels are below SHINY_LEVELS, and stand in a TAG record's size from this bit on. */
enum { SHINY_LEVELS = 8, SHINY_LEVEL_SHIFT = 17 };

/* The mean of the first level where only SHINY_BUDGET is set. */
#define SHINY_SAMPLE_FINEST (UINT64_C(128) << 10)

/* Returns the mean of a level. */
static inline uint64_t shiny_sample_mean(uint64_t first, unsigned level)
{
	uint64_t mean = first << level;

	return mean < SHINY_SAMPLE_MOST ? mean : SHINY_SAMPLE_MOST;
}

/* Returns 1 - exp(-size / mean) for 0 < size < mean, by the series of exp, whose eighteenth term is
 * below the precision of a double. */
static inline double shiny_sample_chance(uint64_t size, uint64_t mean)
{
	double x = (double)size / (double)mean, term = x, sum = 0;

	for (int n = 1; n < 19; n++) {
		sum += term;
		term *= -x / (n + 1);
	}
	return sum;
}

/* Returns how many blocks a block of a sample stands for; `mean` 0: it is no sample. */
static inline uint64_t shiny_sample_weight(uint64_t size, uint64_t mean)
{
	double inverse;
	uint64_t whole;

	size += !size;
	if (size >= mean)
		return 1;
	inverse = 1 / shiny_sample_chance(size, mean);
	whole = (uint64_t)inverse;
	return whole + ((double)whole < inverse);
}

#endif
