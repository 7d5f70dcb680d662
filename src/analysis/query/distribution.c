/* SPDX-License-Identifier: Apache-2.0 */
#include "distribution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"

enum { SUB_BITS = 3, SUBS = 1 << SUB_BITS, EXACT = 2 * SUBS };

unsigned distribution_bin_of(uint64_t value)
{
	unsigned octave;

	if (value < EXACT)
		return (unsigned)value;
	octave = 63 - (unsigned)__builtin_clzll(value);
	return EXACT + (octave - SUB_BITS - 1) * SUBS +
	       (unsigned)(value >> (octave - SUB_BITS) & (SUBS - 1));
}

uint64_t distribution_bin_start(unsigned bin)
{
	unsigned octave;

	if (bin < EXACT)
		return bin;
	octave = (bin - EXACT) / SUBS + SUB_BITS + 1;
	if (octave > 63)
		return UINT64_MAX;
	return (UINT64_C(1) << octave) + ((uint64_t)((bin - EXACT) % SUBS) << (octave - SUB_BITS));
}

/* The middle of a bin, for what is said of its values. */
static uint64_t middle(unsigned bin)
{
	uint64_t start = distribution_bin_start(bin), next = distribution_bin_start(bin + 1);

	return bin < EXACT ? start : start + (next - start) / 2;
}

static struct distribution_bin *bin_at(struct distribution *d, unsigned bin)
{
	unsigned first, end;
	struct distribution_bin *larger;

	if (d->count && bin >= d->first && bin < d->first + d->count)
		return &d->bins[bin - d->first];
	first = !d->count || bin < d->first ? bin : d->first;
	end = !d->count || bin >= d->first + d->count ? bin + 1 : d->first + d->count;
	larger = mem_zero(end - first, sizeof(*larger));
	if (d->count)
		memcpy(larger + (d->first - first), d->bins, d->count * sizeof(*larger));
	free(d->bins);
	d->bins = larger;
	d->first = first;
	d->count = end - first;
	return &d->bins[bin - first];
}

void distribution_add(struct distribution *d, uint64_t value, bool censored)
{
	struct distribution_bin *bin = bin_at(d, distribution_bin_of(value));

	if (value > d->max)
		d->max = value;
	if (censored) {
		bin->censored++;
		d->censored++;
		return;
	}
	bin->ended++;
	d->ended++;
	d->sum += (double)value;
	log_sum_add(&d->logs, value);
}

void distribution_expect(const struct distribution *d, uint64_t value)
{
	unsigned bin = distribution_bin_of(value);

	if (bin >= d->first && bin < d->first + d->count)
		__builtin_prefetch(&d->bins[bin - d->first], 1);
}

void distribution_merge(struct distribution *to, const struct distribution *from)
{
	for (unsigned i = 0; i < from->count; i++) {
		struct distribution_bin *bin;

		if (!from->bins[i].ended && !from->bins[i].censored)
			continue;
		bin = bin_at(to, from->first + i);
		bin->ended += from->bins[i].ended;
		bin->censored += from->bins[i].censored;
	}
	to->ended += from->ended;
	to->censored += from->censored;
	to->sum += from->sum;
	to->logs.sum += log_sum_value(&from->logs);
	if (from->max > to->max)
		to->max = from->max;
}

void distribution_deinit(struct distribution *d)
{
	free(d->bins);
	*d = (struct distribution){ 0 };
}

uint64_t distribution_quantile(const struct distribution *d, double q)
{
	uint64_t rank = (uint64_t)ceil(q * (double)d->ended), seen = 0;

	if (!rank)
		rank = 1;
	for (unsigned i = 0; i < d->count; i++) {
		seen += d->bins[i].ended;
		if (seen >= rank)
			return middle(d->first + i);
	}
	return 0;
}

double distribution_mean(const struct distribution *d)
{
	return d->ended ? d->sum / (double)d->ended : 0;
}

double distribution_geometric_mean(const struct distribution *d)
{
	return d->ended ? exp(log_sum_value(&d->logs) / (double)d->ended) : 0;
}

double distribution_survival(const struct distribution *d, uint64_t value)
{
	unsigned last = distribution_bin_of(value);
	uint64_t at_risk = d->ended + d->censored;
	double survival = 1;

	for (unsigned i = 0; i < d->count && d->first + i <= last && at_risk; i++) {
		survival *= 1 - (double)d->bins[i].ended / (double)at_risk;
		at_risk -= d->bins[i].ended + d->bins[i].censored;
	}
	return survival;
}

uint64_t distribution_survival_quantile(const struct distribution *d, double share)
{
	uint64_t at_risk = d->ended + d->censored;
	double survival = 1;

	for (unsigned i = 0; i < d->count && at_risk; i++) {
		survival *= 1 - (double)d->bins[i].ended / (double)at_risk;
		at_risk -= d->bins[i].ended + d->bins[i].censored;
		if (survival <= share)
			return middle(d->first + i);
	}
	return UINT64_MAX;
}

void distribution_octaves(const struct distribution *d,
			  struct distribution_bin octaves[DISTRIBUTION_OCTAVES])
{
	memset(octaves, 0, DISTRIBUTION_OCTAVES * sizeof(*octaves));
	for (unsigned i = 0; i < d->count; i++) {
		uint64_t start = distribution_bin_start(d->first + i);
		struct distribution_bin *octave = &octaves[start ? 63 - __builtin_clzll(start) : 0];

		octave->ended += d->bins[i].ended;
		octave->censored += d->bins[i].censored;
	}
}
