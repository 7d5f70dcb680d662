/* SPDX-License-Identifier: Apache-2.0 */
#include "check_value.h"

#include <math.h>

uint64_t check_value_of(const struct sums *sums, enum check_measure measure)
{
	switch (measure) {
	case CHECK_ALLOCS:
		return sums->allocs;
	case CHECK_REALLOCS:
		return sums->reallocs;
	case CHECK_FREES:
		return sums->frees;
	case CHECK_BYTES:
		return sums->bytes;
	case CHECK_LIVE:
		return sums->live;
	default: return sums->live_bytes;
	}
}

double check_value_tracked(const struct tracker *w, enum check_measure measure, bool part)
{
	switch (measure) {
	case CHECK_PEAK_BYTES:
		return (double)(part ? w->at_target : w->peak_bytes);
	case CHECK_LEAKS:
		return (double)w->leaks;
	case CHECK_LEAKED_BYTES:
		return (double)w->leaked_bytes;
	default: return NAN;
	}
}

struct histogram_range check_value_range(const struct sums *sums, enum check_measure measure,
					 double value)
{
	struct estimate_bounds bounds;
	bool bytes = check_measures[measure].unit == CHECK_IN_BYTES;
	double all = (double)(bytes ? sums->bytes : sums->allocs);
	double variance = bytes ? (double)sums->bytes_variance * ESTIMATE_BYTES_UNIT
				: (double)sums->allocs_variance;
	double one = all > 0 ? variance / all : 0; /* what a block of the sample stands for */

	if (measure == CHECK_LIVE)
		variance = (double)sums->live_variance;
	else if (measure == CHECK_LIVE_BYTES)
		variance = (double)sums->live_bytes_variance * ESTIMATE_BYTES_UNIT;
	else if (measure != CHECK_ALLOCS && measure != CHECK_BYTES)
		variance = one * value;
	bounds = estimate_bounds((uint64_t)value, variance, one);
	return (struct histogram_range){ .about = (uint64_t)value,
					 .low = bounds.low,
					 .high = bounds.high };
}
