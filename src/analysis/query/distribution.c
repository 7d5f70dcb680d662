/* SPDX-License-Identifier: Apache-2.0 */
#include "distribution.h"

#include <math.h>
#include <string.h>

/* Widens least..most of the ended. Call before counting new values. */
static void reach(struct distribution *d, uint64_t least, uint64_t most)
{
	if (!d->ended || least < d->least)
		d->least = least;
	if (most > d->most)
		d->most = most;
}

void distribution_add(struct distribution *d, uint64_t value, uint64_t count, bool censored)
{
	histogram_add(censored ? &d->censored_bins : &d->ended_bins, histogram_bin(value), count);
	if (censored) {
		d->censored += count;
		return;
	}
	reach(d, value, value);
	d->ended += count;
	if (count > 1)
		histogram_add(&d->spread, histogram_bin(value), count * (count - 1));
	d->sum += (double)value * (double)count;
	log_sum_add_many(&d->logs, value, count);
}

void distribution_expect(const struct distribution *d, uint64_t value)
{
	histogram_expect(&d->ended_bins, histogram_bin(value));
}

void distribution_merge(struct distribution *to, const struct distribution *from)
{
	histogram_merge(&to->ended_bins, &from->ended_bins);
	histogram_merge(&to->censored_bins, &from->censored_bins);
	if (from->ended)
		reach(to, from->least, from->most);
	to->ended += from->ended;
	to->censored += from->censored;
	to->sum += from->sum;
	histogram_merge(&to->spread, &from->spread);
	to->logs.sum += log_sum_value(&from->logs);
}

void distribution_deinit(struct distribution *d)
{
	histogram_deinit(&d->ended_bins);
	histogram_deinit(&d->censored_bins);
	histogram_deinit(&d->spread);
	*d = (struct distribution){ 0 };
}

static struct histogram_range quantile(const struct distribution *d, double q)
{
	return histogram_quantile(&d->ended_bins, fmin(fmax(q, 0), 1), d->least, d->most);
}

uint64_t distribution_quantile(const struct distribution *d, double q)
{
	return quantile(d, q).about;
}

/* Returns the variance of the share of those that live no longer than the bin's values. */
static double share_variance(const struct distribution *d, double q, unsigned last)
{
	double within = 0, beyond = 0, ended = (double)d->ended;

	for (unsigned bin = d->spread.first; bin < d->spread.first + d->spread.count; bin++)
		*(bin <= last ? &within : &beyond) += (double)histogram_count(&d->spread, bin);
	return ((1 - q) * (1 - q) * within + q * q * beyond) / (ended * ended);
}

struct histogram_range distribution_quantile_range(const struct distribution *d, double q)
{
	static const double z = 1.959964; /* of 2.5 % on each side */
	struct histogram_range range = quantile(d, q);
	double variance = share_variance(d, q, histogram_bin(range.about)), n, middle, half;

	if (!(variance > 0))
		return range;
	n = q * (1 - q) / variance;
	middle = (q + z * z / (2 * n)) / (1 + z * z / n);
	half = z / (1 + z * z / n) * sqrt(q * (1 - q) / n + z * z / (4 * n * n));
	range.low = quantile(d, middle - half - 1 / n).low;
	range.high = quantile(d, middle + half + 1 / n).high;
	return range;
}

double distribution_mean(const struct distribution *d)
{
	return d->ended ? d->sum / (double)d->ended : 0;
}

double distribution_geometric_mean(const struct distribution *d)
{
	return d->ended ? exp(log_sum_value(&d->logs) / (double)d->ended) : 0;
}

/* Returns the factor of one bin in the survival function; subtracts the bin from *at_risk. */
static double survive(const struct distribution *d, unsigned bin, uint64_t *at_risk)
{
	uint64_t ended = histogram_count(&d->ended_bins, bin);
	double factor = 1 - (double)ended / (double)*at_risk;

	*at_risk -= ended + histogram_count(&d->censored_bins, bin);
	return factor;
}

double distribution_survival(const struct distribution *d, uint64_t value)
{
	unsigned last = histogram_bin(value);
	uint64_t at_risk = d->ended + d->censored;
	double survival = 1;

	for (unsigned bin = 0; bin <= last && at_risk; bin++)
		survival *= survive(d, bin, &at_risk);
	return survival;
}

uint64_t distribution_survival_quantile(const struct distribution *d, double share)
{
	uint64_t at_risk = d->ended + d->censored, ended, rank;
	double survival = 1;

	if (!d->censored && d->ended)
		return distribution_quantile(d, 1 - share);
	for (unsigned bin = 0; at_risk; bin++) {
		ended = histogram_count(&d->ended_bins, bin);
		/* rank of the end in this bin that lowers survival to `share` */
		rank = (uint64_t)ceil((1 - share / survival) * (double)at_risk * (1 - 1e-12));
		survival *= survive(d, bin, &at_risk);
		if (ended && survival <= share * (1 + 1e-12))
			return histogram_in_bin(bin, rank < ended ? rank : ended, ended, d->least,
						d->most)
				.about;
	}
	return UINT64_MAX;
}

static unsigned octave_of(unsigned bin)
{
	uint64_t start = histogram_bin_start(bin);

	return start ? 63 - (unsigned)__builtin_clzll(start) : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void distribution_octaves(const struct distribution *d, struct distribution_octaves *out)
{
	struct distribution_octave all[DISTRIBUTION_OCTAVES] = { 0 };
	unsigned end = DISTRIBUTION_OCTAVES;

	for (unsigned bin = 0; bin < HISTOGRAM_BINS; bin++) {
		all[octave_of(bin)].ended += histogram_count(&d->ended_bins, bin);
		all[octave_of(bin)].censored += histogram_count(&d->censored_bins, bin);
	}
	while (end && !all[end - 1].ended && !all[end - 1].censored)
		end--;
	*out = (struct distribution_octaves){ .most = 1 };
	for (unsigned i = 0; i < end; i++) {
		if (!out->count && !all[i].ended && !all[i].censored)
			continue;
		all[i].from = i ? UINT64_C(1) << i : 0;
		all[i].survival = distribution_survival(d, (UINT64_C(2) << i) - 1);
		out->most = larger(out->most, larger(all[i].ended, all[i].censored));
		out->rows[out->count++] = all[i];
	}
}
