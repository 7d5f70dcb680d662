/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_use_estimate.c: the intervals of use_estimate.h hold. Populations of which the true share
 * is known are drawn from, watched and estimated, again and again, with the windows of the sidecar;
 * the numbers are the same in each run of this test.
 */
#include <math.h>

#include "../../src/analysis/access/use_estimate.h"
#include "../lib/random.h"
#include "check.h"

enum { RUNS = 400, WATCHES_MOST = 400, LEAST_OF_100 = 93 };
#define MS UINT64_C(1000000)

static const uint64_t times[] = { 100 * MS, 1000 * MS, 10000 * MS };

static double uniform(void)
{
	return (double)(next_random() >> 11) / 9007199254740992.;
}

/* ns */
static uint64_t exponential(double mean)
{
	return (uint64_t)(-log(1 - uniform()) * mean) + 1;
}

/* Strata with weights and habits of their own, as sites of one type have. */
struct habit {
	double of;      /* the population */
	double sampled; /* the draws */
	double dead;    /* never used */
	double mean;    /* ns until the use of the others */
	double life;    /* ns until it is freed; 0 never */
};
struct population {
	const char *name;
	struct habit habits[3];
};
static const struct population populations[] = {
	{ "never", { { 1, 1, 1, 1, 0 } } },
	{ "always", { { 1, 1, 0, 1e5, 0 } } },
	{ "fifth", { { 1, 1, .8, 1e6, 0 } } },
	{ "half", { { 1, 1, .5, 2e7, 0 } } },
	{ "rare", { { 1, 1, .97, 1e6, 0 } } },
	{ "slow", { { 1, 1, 0, 2e9, 0 } } },
	{ "dying", { { 1, 1, .3, 5e7, 8e7 } } },
	{ "mixed", { { .6, .3, .9, 1e6, 0 }, { .3, .3, .1, 3e8, 2e9 }, { .1, .4, .5, 1e5, 0 } } },
};

static const struct habit *draw_habit(const struct population *p, bool sampled)
{
	double left = uniform();
	int i = 0;

	for (; i < 2; i++) {
		double share = sampled ? p->habits[i].sampled : p->habits[i].of;

		if (left < share)
			break;
		left -= share;
	}
	return &p->habits[i];
}

/* One block: when it is used and freed. */
static void draw_fate(const struct habit *h, uint64_t *used, uint64_t *freed)
{
	*used = uniform() < h->dead ? UINT64_MAX : exponential(h->mean);
	*freed = h->life > 0 ? exponential(h->life) : UINT64_MAX;
}

static uint64_t draw_window(void)
{
	uint64_t n = random_below(200);

	return n < 192 ? times[0] : n < 199 ? times[1] : times[2];
}

/* By integration: 1 - exp(-t (1/mean + 1/life)) of those that are ever used, times the part of the
 * two rates that is use. */
static double truth(const struct population *p, uint64_t time)
{
	double share = 0;

	for (int i = 0; i < 3; i++) {
		const struct habit *h = &p->habits[i];
		double use = h->mean > 0 ? 1 / h->mean : 0, end = h->life > 0 ? 1 / h->life : 0;

		if (h->of > 0)
			share += h->of * (1 - h->dead) * use / (use + end) *
				 (1 - exp(-(double)time * (use + end)));
	}
	return share;
}

static size_t draw_watches(const struct population *p, size_t count, struct use_watch *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct habit *h = draw_habit(p, true);
		uint64_t window = draw_window(), used, freed;

		draw_fate(h, &used, &freed);
		out[i].weight = h->of / h->sampled;
		out[i].used = used < freed && used <= window;
		out[i].time = out[i].used ? used : window;
	}
	use_sort(out, count);
	return count;
}

static void coverage(const struct population *p, size_t count, unsigned t)
{
	static struct use_watch watches[WATCHES_MOST];
	double true_share = truth(p, times[t]), width = 0;
	unsigned held = 0;
	char name[64];

	for (int run = 0; run < RUNS; run++) {
		struct use_share s =
			use_share_within(watches, draw_watches(p, count, watches), times[t]);

		held += s.low <= true_share + 1e-9 && true_share <= s.high + 1e-9;
		width += (s.high - s.low) / RUNS;
	}
	snprintf(name, sizeof(name), "coverage/%s/%zu/%u", p->name, count, t);
	checkf(name, held * 100 >= LEAST_OF_100 * RUNS,
	       "the true share %.3f is in %u of %d intervals, %.3f wide on average", true_share,
	       held, RUNS, width);
}

static void near(const char *name, double got, double want)
{
	checkf(name, fabs(got - want) < 1e-4, "got %.6f, want %.6f", got, want);
}

/* Of n watches that all reach a time x were used before: the bounds of Clopper and Pearson, as R's
 * binom.test says them. */
static void known_interval(const char *name, size_t n, size_t x, double low, double high)
{
	struct use_watch w[32];
	struct use_share s;
	char text[64];

	for (size_t i = 0; i < n; i++)
		w[i] = (struct use_watch){ i < x ? i + 1 : MS, 3, i < x };
	use_sort(w, n);
	s = use_share_within(w, n, MS);
	snprintf(text, sizeof(text), "%s/share", name);
	near(text, s.share, (double)x / (double)n);
	snprintf(text, sizeof(text), "%s/low", name);
	near(text, s.low, low);
	snprintf(text, sizeof(text), "%s/high", name);
	near(text, s.high, high);
}

/* Kaplan and Meier by hand: at 1 one of 4 is used; at 2 one is lost; at 3 one of 2 is used. */
static void known_curve(void)
{
	struct use_watch w[] = {
		{ 3 * MS, 1, true }, { 2 * MS, 1, false }, { 1 * MS, 1, true }, { 9 * MS, 1, false }
	};

	use_sort(w, 4);
	near("curve/1", use_share_within(w, 4, 1 * MS).share, .25);
	near("curve/2", use_share_within(w, 4, 2 * MS).share, .25);
	near("curve/3", use_share_within(w, 4, 3 * MS).share, .625);
	near("curve/nobody is left", use_share_within(w, 4, 10 * MS).high, 1);
	near("curve/nothing", use_share_within(w, 0, MS).high, 1);
	near("curve/nothing is known", use_share_within(w, 0, MS).watches, 0);
}

int main(void)
{
	static const size_t counts[] = { 5, 20, 60, 200 };

	known_interval("interval/0 of 10", 10, 0, 0, 0.308497);
	known_interval("interval/3 of 10", 10, 3, 0.066740, 0.652453);
	known_interval("interval/20 of 20", 20, 20, 0.831566, 1);
	known_curve();
	for (size_t i = 0; i < sizeof(populations) / sizeof(*populations); i++)
		for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++)
			for (unsigned t = 0; t < 3; t++)
				coverage(&populations[i], counts[k], t);
	return failures != 0;
}
