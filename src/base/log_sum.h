/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_sum.h: the sum of natural logarithms of many numbers, at the price of a multiplication each.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one a sum.
 *
 * ln a + ln b = ln ab: numbers are multiplied until the product is near a double's end. A product
 * of n has a relative error of at most n * 2^-53, and no more than 900 are multiplied before the
 * logarithm is taken (numbers of 1 aside, which add no error).
 */
#ifndef SHINY_LOG_SUM_H
#define SHINY_LOG_SUM_H

#include <math.h>
#include <stdint.h>

struct log_sum { /* zeroed: empty */
	double sum, product; /* product: of the numbers that are not in `sum` yet; 0 means 1 */
};

/* Adds ln `value`; 0 counts as 1. */
static inline void log_sum_add(struct log_sum *s, uint64_t value)
{
	double product = (s->product > 0 ? s->product : 1) * (value ? (double)value : 1);

	if (product >= 0x1p900) { /* 2^900 * 2^64 is a double, too */
		s->sum += log(product);
		product = 1;
	}
	s->product = product;
}

/* Adds it `count` times. */
static inline void log_sum_add_many(struct log_sum *s, uint64_t value, uint64_t count)
{
	if (count == 1)
		log_sum_add(s, value);
	else if (value)
		s->sum += (double)count * log((double)value);
}

static inline double log_sum_value(const struct log_sum *s)
{
	return s->sum + (s->product > 0 ? log(s->product) : 0);
}

#endif
