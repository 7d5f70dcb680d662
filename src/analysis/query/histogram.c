/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.c: see histogram.h. */
#include "histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"

uint64_t histogram_bin_start(unsigned bin)
{
	unsigned octave;

	if (bin < HISTOGRAM_EXACT)
		return bin;
	octave = (bin - HISTOGRAM_EXACT) / HISTOGRAM_SUBS + HISTOGRAM_SUB_BITS + 1;
	if (octave > 63)
		return UINT64_MAX;
	return (UINT64_C(1) << octave) + ((uint64_t)((bin - HISTOGRAM_EXACT) % HISTOGRAM_SUBS)
					  << (octave - HISTOGRAM_SUB_BITS));
}

void histogram_reach(struct histogram *h, unsigned bin)
{
	unsigned first = bin / HISTOGRAM_SUBS * HISTOGRAM_SUBS, end = first + HISTOGRAM_SUBS;
	uint64_t *larger;

	if (h->count) {
		first = h->first < first ? h->first : first;
		end = h->first + h->count > end ? h->first + h->count : end;
	}
	larger = mem_zero(end - first, sizeof(*larger));
	if (h->count)
		memcpy(larger + (h->first - first), h->at, h->count * sizeof(*larger));
	free(h->at);
	*h = (struct histogram){ larger, first, end - first };
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	for (unsigned i = 0; i < from->count; i++)
		if (from->at[i])
			histogram_add(to, from->first + i, from->at[i]);
}

void histogram_deinit(struct histogram *h)
{
	free(h->at);
	*h = (struct histogram){ 0 };
}

uint64_t histogram_total(const struct histogram *h)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < h->count; i++)
		total += h->at[i];
	return total;
}

struct histogram_range histogram_in_bin(unsigned bin, uint64_t rank, uint64_t count, uint64_t least,
					uint64_t most)
{
	uint64_t low = histogram_bin_start(bin), next = histogram_bin_start(bin + 1),
		 high = next == UINT64_MAX ? next : next - 1;

	low = low < least ? least : low;
	high = high > most ? most : high;
	if (high <= low)
		return (struct histogram_range){ low, low, low };
	return (struct histogram_range){
		low,
		low + (uint64_t)((double)(high - low) * ((double)rank - 0.5) / (double)count),
		high
	};
}

struct histogram_range histogram_quantile(const struct histogram *h, double q, uint64_t least,
					  uint64_t most)
{
	uint64_t total = histogram_total(h), rank = (uint64_t)ceil(q * (double)total), seen = 0;

	if (!total)
		return (struct histogram_range){ 0 };
	if (rank <= 1)
		return (struct histogram_range){ least, least, least };
	if (rank >= total)
		return (struct histogram_range){ most, most, most };
	for (unsigned i = 0; i < h->count; i++) {
		if (seen + h->at[i] >= rank)
			return histogram_in_bin(h->first + i, rank - seen, h->at[i], least, most);
		seen += h->at[i];
	}
	return (struct histogram_range){ 0 };
}
