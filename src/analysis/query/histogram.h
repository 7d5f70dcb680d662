/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.h: counts numbers by eighths of octaves.
 *
 * Runs: CLI. Signals: no. Allocates: 8 bytes a bin of the octaves between the smallest and the
 * largest value. Threads: one a histogram.
 *
 * Values below 16 have a bin each, bin of larger ones: 8 * floor(log2 v) + the next three bits. A
 * quantile is known to within its bin, which is at most 1/8 of its value wide, and to within the
 * least and the most value, which the caller keeps. The estimate assumes that a bin's values are
 * spread evenly, so it is off by less than 1/8. Octaves are allocated as a whole, a cache line
 * each, as values counted together are in one or two of them.
 */
#ifndef SHINY_HISTOGRAM_H
#define SHINY_HISTOGRAM_H

#include <stdint.h>

enum {
	HISTOGRAM_SUB_BITS = 3,
	HISTOGRAM_SUBS = 1 << HISTOGRAM_SUB_BITS,
	HISTOGRAM_EXACT = 2 * HISTOGRAM_SUBS,
	/* up to the octave of 2^63 */
	HISTOGRAM_BINS = HISTOGRAM_EXACT + (63 - HISTOGRAM_SUB_BITS) * HISTOGRAM_SUBS
};

struct histogram { /* zeroed: empty */
	uint64_t *at;          /* counts of bins `first` to first + count - 1 */
	uint32_t first, count; /* multiples of HISTOGRAM_SUBS */
};

/* Return the number of a value's bin, and the least value of a bin. */
static inline unsigned histogram_bin(uint64_t value)
{
	unsigned octave;

	if (value < HISTOGRAM_EXACT)
		return (unsigned)value;
	octave = 63 - (unsigned)__builtin_clzll(value);
	return HISTOGRAM_EXACT + (octave - HISTOGRAM_SUB_BITS - 1) * HISTOGRAM_SUBS +
	       (unsigned)(value >> (octave - HISTOGRAM_SUB_BITS) & (HISTOGRAM_SUBS - 1));
}
uint64_t histogram_bin_start(unsigned bin);

void histogram_reach(struct histogram *histogram, unsigned bin); /* allocates that bin */
static inline void histogram_add(struct histogram *h, unsigned bin, uint64_t values)
{
	if (bin - h->first >= h->count)
		histogram_reach(h, bin);
	h->at[bin - h->first] += values;
}
/* Prefetches a bin for histogram_add(). */
static inline __attribute__((always_inline)) void histogram_expect(const struct histogram *h,
								   unsigned bin)
{
	if (bin - h->first < h->count)
		__builtin_prefetch(&h->at[bin - h->first], 1);
}
static inline uint64_t histogram_count(const struct histogram *h, unsigned bin)
{
	return bin - h->first < h->count ? h->at[bin - h->first] : 0;
}

void histogram_merge(struct histogram *to, const struct histogram *from);
void histogram_deinit(struct histogram *histogram);

uint64_t histogram_total(const struct histogram *histogram); /* number of values */
/* The range of a value of which only the bin is known; `about` is the estimate. */
struct histogram_range { uint64_t low, about, high; };
/* Returns the value of a rank (1: the least) among `count` in a bin; all values are in
 * least..most. */
struct histogram_range histogram_in_bin(unsigned bin, uint64_t rank, uint64_t count, uint64_t least,
					uint64_t most);
/* Returns the value of rank ceil(q * total); least and most are the extreme values; `q` in 0..1.
 * All 0: no values. */
struct histogram_range histogram_quantile(const struct histogram *histogram, double q,
					  uint64_t least, uint64_t most);

#endif
