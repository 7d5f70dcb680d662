/* SPDX-License-Identifier: Apache-2.0 */
/* use_estimate.c: see use_estimate.h. */
#include "use_estimate.h"
#include "../../base/row_order.h"

#include <math.h>
#include <stdlib.h>

enum { BISECTIONS = 60, FRACTION_TERMS = 300 };
static const double tail = 0.025;

ORDER_BY(by_time, struct use_watch, ORDER_UP(time) ?: ORDER_DOWN(used))

void use_sort(struct use_watch *watches, size_t count)
{
	qsort(watches, count, sizeof(*watches), by_time);
}

/* The regularized incomplete beta function, by its continued fraction (Abramowitz and Stegun
 * 26.5.8), evaluated after Lentz. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	f = d;
	for (int m = 1; m <= FRACTION_TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double terms[] = { even, odd };

		for (int i = 0; i < 2; i++) {
			d = 1 + terms[i] * d;
			c = 1 + terms[i] / c;
			d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
			c = fabs(c) < 1e-300 ? 1e-300 : c;
			f *= c * d;
		}
		if (fabs(c * d - 1) < 1e-12)
			break;
	}
	return f;
}

static double beta_below(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static double beta_quantile(double a, double b, double p)
{
	double low = 0, high = 1;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (beta_below(a, b, middle) < p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* The moments of a product of beta variables. */
struct beta_product {
	double log_mean, log_square; /* log of the mean, and of the mean of the square */
	bool any;
};

static void multiply_beta(struct beta_product *p, double a, double b)
{
	p->log_mean += log(a / (a + b));
	p->log_square += log(a * (a + 1) / ((a + b) * (a + b + 1)));
	p->any = true;
}

/* Approximates the product by the beta distribution of its mean and variance. */
static double product_quantile(const struct beta_product *p, double probability)
{
	double mean = exp(p->log_mean), variance = exp(p->log_square) - mean * mean, sum;

	if (!p->any)
		return 1;
	if (!(variance > 0))
		return mean;
	sum = mean * (1 - mean) / variance - 1;
	return beta_quantile(mean * sum, (1 - mean) * sum, probability);
}

/* The watches that have not ended yet. */
struct risk_set {
	double weight, squares;
};

static double equal_watches(const struct risk_set *r)
{
	return r->squares > 0 ? r->weight * r->weight / r->squares : 0;
}

struct use_share use_share_within(const struct use_watch *watches, size_t count, uint64_t time)
{
	struct use_share out = { .high = 1 };
	struct risk_set risk = { 0 };
	struct beta_product unused = { 0 };
	double survived = 1;
	size_t uses = 0, left = count;

	for (size_t i = 0; i < count; i++) {
		risk.weight += watches[i].weight;
		risk.squares += watches[i].weight * watches[i].weight;
	}
	/* a watch that ends unused at `time` itself still counts as having reached it */
	for (size_t i = 0; i < count && watches[i].time + !watches[i].used <= time; i++, left--) {
		double n = equal_watches(&risk), used = watches[i].weight / risk.weight;

		if (watches[i].used) {
			survived *= left > 1 ? 1 - used : 0;
			multiply_beta(&unused, n * (1 - used) + 1, n * used);
			uses++;
		}
		risk.weight -= watches[i].weight;
		risk.squares -= watches[i].weight * watches[i].weight;
	}
	if (!uses && !left)
		return out;
	out.share = 1 - survived;
	out.low = 1 - product_quantile(&unused, 1 - tail);
	out.watches = (double)uses + (left ? equal_watches(&risk) : 0);
	if (!left)
		return out;
	multiply_beta(&unused, equal_watches(&risk), 1);
	out.high = 1 - product_quantile(&unused, tail);
	return out;
}
