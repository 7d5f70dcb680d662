/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_estimate.h: estimates the share of a group of blocks that is used within a time, with its
 * interval, from a sample of watched blocks.
 *
 * Runs: CLI. Signals: no. Allocates: no. Threads: any.
 *
 * Quantity. The probability that a live block (or byte) of the group at a random moment of the
 * recording is used within t after it, while it lives. A block that is freed unused stays unused
 * for the rest of its window, which is known, as windows are drawn beforehand (Fine and Gray 1999
 * call that risk set the subdistribution's). The end of a window, a realloc and the end of the
 * process censor.
 *
 * Estimator. One minus the survival curve of Kaplan and Meier (1958), each watch with its weight:
 * the inverse probability of its draw (sidecar/access/watch_draw.h), as in Horvitz and Thompson
 * (1952) and Hajek (1971).
 *
 * Interval. Greenwood's variance fails where it matters here: it is 0 when all or none are used,
 * and too small while few watches reach t. So the interval is the beta product of Fay, Brittain and
 * Proschan (2013): with Y watched just before a use, S(t) is at most the 97.5 % quantile of
 *     the product over uses up to t of Beta(Y, 1)
 * and at least the 2.5 % quantile of that times Beta(Y(t), 1), with Y(t) that reach t; each product
 * as the beta distribution of its mean and variance. Without censoring this is the interval of
 * Clopper and Pearson (1934); if no watch reaches t the share may be up to 1. Watches of unequal
 * weight count as (sum w)^2 / (sum w^2) of equal weight (Kish 1965). Coverage is tested by
 * simulation (unit/test_use_estimate): at least 93 of 100 for shares from 0 to 1, skewed weights,
 * windows and ends as here.
 */
#ifndef SHINY_USE_ESTIMATE_H
#define SHINY_USE_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct use_watch {
	uint64_t time; /* ns after arming */
	double weight; /* above 0 */
	bool used;     /* true: the watch ended with a use; false: unused until `time` */
};

struct use_share {
	double share, low, high; /* low and high: 95 % */
	double watches; /* number of watches of equal weight that it rests on; 0: unknown */
};

/* Sorts by time; at equal times uses come first. */
void use_sort(struct use_watch *watches, size_t count);
/* `watches` must be sorted by use_sort(). Without data low is 0 and high is 1. */
struct use_share use_share_within(const struct use_watch *watches, size_t count, uint64_t time);

#endif
