/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_value.h: the value of a measure in the sums of some blocks or in their tracker, and where
 * it may lie if they are a sample (SHINY_SAMPLE).
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_CHECK_VALUE_H
#define SHINY_CHECK_VALUE_H

#include "../../store/sums.h"
#include "../query/histogram.h"
#include "check_rule.h"
#include "tracker.h"

/* Returns the value of a measure that is a sum. */
uint64_t check_value_of(const struct sums *sums, enum check_measure measure);

/* Returns that of one which a tracker has; `part`: at its target. NAN: a lifetime. */
double check_value_tracked(const struct tracker *tracker, enum check_measure measure, bool part);

/*
 * Returns the 95 % interval of an estimate of a measure of bytes, or of blocks. That of a peak or
 * of leaks, which the sums don't have, is as wide as if they were any such part of the row's
 * blocks.
 */
struct histogram_range check_value_range(const struct sums *sums, enum check_measure measure,
					 double value);

#endif
