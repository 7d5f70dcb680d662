/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lower_bound.h: binary search in anything sorted.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * 	size_t at = lower_bound(list->count, i, list->at[i].start < start);
 *
 * 	if (at < list->count && list->at[at].start == start)
 * 		...
 */
#ifndef SHINY_LOWER_BOUND_H
#define SHINY_LOWER_BOUND_H

#include <stddef.h>

/*
 * The first index of 0 to count - 1 for which `before` is false, or `count`. `before` is an
 * expression of `index`, the name that the caller chooses for it; it is true for a number of first
 * indexes and false for the others. With `<` this is the first element that is not smaller, with
 * `<=` the first one that is larger.
 */
#define lower_bound(count, index, before)                                                          \
	({                                                                                         \
		size_t low_ = 0, high_ = (count);                                                  \
		while (low_ < high_) {                                                             \
			const size_t index = low_ + (high_ - low_) / 2;                            \
			if (before)                                                                \
				low_ = index + 1;                                                  \
			else                                                                       \
				high_ = index;                                                     \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
