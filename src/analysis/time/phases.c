/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.c: see phases.h.
 *
 * The method is optimal partitioning (B. Jackson et al., "An algorithm for optimal partitioning of
 * data on an interval", IEEE Signal Processing Letters 12(2), 2005): of all ways to cut the series
 * into pieces it finds the one with the least sum of each piece's cost and a penalty a piece,
 * exactly, by dynamic programming: F(t) = min over s < t of F(s) + cost(s, t) + penalty. The
 * penalty is Schwarz's (BIC, 1978): a further piece has two parameters more, where it begins and at
 * which height, so it is 2 sigma^2 ln n, as cost is a sum of squares of errors of variance sigma^2.
 *
 * A piece is the straight line between the two points of the series at its ends, its cost the
 * squared distances of the points in between. So pieces join: a heap that grows by 100 MB from one
 * interval to the next has a piece for that step, where lines of least squares would show two level
 * ones and no growth. PELT (Killick, Fearnhead and Eckley, JASA 107, 2012) would skip most s, but
 * needs a cost that never rises when a piece is divided, which this one may; and without it a few
 * hundred points take milliseconds. Binary segmentation does not find a short spike in a long level
 * stretch, as the first cut gains nothing.
 *
 * Points are the ends of intervals, and their middles: half-way between two ends, or if the
 * interval's most bytes exceed both ends by more than twice the median excess, higher by the rest.
 * So a spike shorter than an interval is found, and a program that allocates and frees much in
 * every interval is not one spike after the other.
 *
 * Sigma, the noise of a heap without changes, comes from the second differences of the ends (for
 * independent errors their variance is 6 sigma^2; from their median, so that steps do not count),
 * and is at least 1 % of the whole height, too little to see.
 *
 * Pieces that change by less than LEVEL of the height, or CLEAR sigma, are steady, or by less than
 * half of that if it is PART of the live bytes; neighbours of one kind become one phase, except
 * rises (falls) of which one is STEEPER times as steep as the other, unless both together last less
 * than TINY of the time. A steady piece of less than TINY of the time belongs to the rise or fall
 * beside it. A rise and fall back, up to BACK of its height, within SHORT of the time is a spike.
 * An interval beside a rise, fall or spike belongs to it, not to the steady phase, if it already
 * (still) goes the same way. While all this makes more phases than PHASES_MAX, the penalty is
 * doubled.
 */
#include "phases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"

#define LEVEL   0.05
#define CLEAR   4.0
#define PART    0.25
#define STEEPER 4.0
#define SHORT   0.1
#define BACK    0.34
#define TINY    0.02

enum { INTERVALS = 500 }; /* longer series are merged to this: the time is quadratic */

const char *const phase_kind_names[PHASE_KINDS] = {
	[PHASE_STEADY] = "steady",
	[PHASE_RISE] = "rise",
	[PHASE_FALL] = "fall",
	[PHASE_SPIKE] = "spike",
};

/* The series as points: 0, 2, 4, … are the ends of intervals, 1, 3, 5, … their middles. Heights are
 * 0 to 1. */
struct curve {
	double *at;
	size_t count;              /* number of points: 2 * intervals + 1 */
	double *sum, *squares, *moments; /* sums over the points before each: y, y * y, k * y */
	double ground;             /* bytes of height 0, in heights */
	double noise, sigma, level; /* noise: sigma without its floor; level: smaller changes are
				     * none */
};

struct phase_piece {
	size_t first, last; /* indexes of points */
	enum phase_kind kind;
};

/* ---- the curve ---- */

ORDER_BY(by_value, double, ORDER_VALUES(*a, *b))

static double median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Returns how far an interval's most bytes exceed those at both its ends. */
static double excess(const struct curve *c, const struct phase_sample *samples, size_t i)
{
	return fmax(0, (double)samples[i].most - fmax(c->at[2 * i], c->at[2 * i + 2]));
}

static void set_middles(struct curve *c, const struct phase_sample *samples, double *values)
{
	size_t intervals = c->count / 2;
	double usual;

	for (size_t i = 0; i < intervals; i++)
		values[i] = excess(c, samples, i);
	usual = median(values, intervals);
	for (size_t i = 0; i < intervals; i++) {
		double more = excess(c, samples, i) - 2 * usual;

		c->at[2 * i + 1] = more > 0 ? fmax(c->at[2 * i], c->at[2 * i + 2]) + more
					    : (c->at[2 * i] + c->at[2 * i + 2]) / 2;
	}
}

static void set_sigma(struct curve *c, double *values)
{
	size_t intervals = c->count / 2;

	for (size_t i = 1; i < intervals; i++)
		values[i - 1] = fabs(c->at[2 * i - 2] - 2 * c->at[2 * i] + c->at[2 * i + 2]);
	/* 1.4826: median deviation to standard deviation */
	c->noise = median(values, intervals - 1) * 1.4826 / sqrt(6);
	c->sigma = fmax(0.01, c->noise);
	c->level = fmax(LEVEL, CLEAR * c->sigma);
}

static void curve_init(struct curve *c, uint64_t before, const struct phase_sample *samples,
		       size_t count)
{
	double low = (double)before, high = (double)before, height,
	       *values = mem_zero(count, sizeof(*values));

	c->count = 2 * count + 1;
	c->at = mem_zero(c->count, sizeof(*c->at));
	c->at[0] = (double)before;
	for (size_t i = 0; i < count; i++)
		c->at[2 * i + 2] = (double)samples[i].bytes;
	set_middles(c, samples, values);
	for (size_t k = 0; k < c->count; k++) {
		low = fmin(low, c->at[k]);
		high = fmax(high, c->at[k]);
	}
	height = high > low ? high - low : 1;
	c->ground = low / height;
	c->sum = mem_zero(c->count + 1, sizeof(*c->sum));
	c->squares = mem_zero(c->count + 1, sizeof(*c->squares));
	c->moments = mem_zero(c->count + 1, sizeof(*c->moments));
	for (size_t k = 0; k < c->count; k++) {
		double y = c->at[k] = (c->at[k] - low) / height;

		c->sum[k + 1] = c->sum[k] + y;
		c->squares[k + 1] = c->squares[k] + y * y;
		c->moments[k + 1] = c->moments[k] + (double)k * y;
	}
	set_sigma(c, values);
	free(values);
}

static void curve_deinit(struct curve *c)
{
	free(c->at);
	free(c->sum);
	free(c->squares);
	free(c->moments);
}

/* Returns the squared distances of the points between `s` and `t` from the line between these
 * two. */
static double cost(const struct curve *c, size_t s, size_t t)
{
	double n = (double)(t - s - 1), from = c->at[s],
	       slope = (c->at[t] - from) / (double)(t - s);
	double squares = c->squares[t] - c->squares[s + 1] -
			 2 * from * (c->sum[t] - c->sum[s + 1]) + n * from * from;
	double moments = c->moments[t] - c->moments[s + 1] -
			 (double)s * (c->sum[t] - c->sum[s + 1]) - from * n * (n + 1) / 2;

	return fmax(0,
		    squares - 2 * slope * moments + slope * slope * n * (n + 1) * (2 * n + 1) / 6);
}

/* Finds the best partition. Returns the number of pieces; `pieces` has room for one a point. */
static size_t partition(const struct curve *c, double penalty, struct phase_piece *pieces)
{
	double *best = mem_zero(c->count, sizeof(*best));
	size_t *from = mem_zero(c->count, sizeof(*from)), count = 0;

	for (size_t t = 1; t < c->count; t++) {
		best[t] = INFINITY;
		for (size_t s = 0; s < t; s++) {
			double all = best[s] + cost(c, s, t) + penalty;

			if (all < best[t]) {
				best[t] = all;
				from[t] = s;
			}
		}
	}
	for (size_t t = c->count - 1; t; t = from[t])
		pieces[count++] = (struct phase_piece){ from[t], t, PHASE_STEADY };
	for (size_t i = 0; i < count / 2; i++) {
		struct phase_piece other = pieces[i];

		pieces[i] = pieces[count - 1 - i];
		pieces[count - 1 - i] = other;
	}
	free(best);
	free(from);
	return count;
}

/* ---- pieces to phases ---- */

static enum phase_kind kind_of(const struct curve *c, size_t first, size_t last)
{
	double change = c->at[last] - c->at[first],
	       held = fmax(c->at[last], c->at[first]) + c->ground;
	double enough = fabs(change) >= PART * held ? c->level / 2 : c->level;

	return change >= enough ? PHASE_RISE : change <= -enough ? PHASE_FALL : PHASE_STEADY;
}

static double slope_of(const struct curve *c, const struct phase_piece *p)
{
	return fabs(c->at[p->last] - c->at[p->first]) / (double)(p->last - p->first);
}

static bool is_tiny(const struct curve *c, const struct phase_piece *p)
{
	return (double)(p->last - p->first) < TINY * (double)(c->count - 1);
}

static bool alike(const struct curve *c, const struct phase_piece *a, const struct phase_piece *b)
{
	double x = slope_of(c, a), y = slope_of(c, b);

	if (a->kind != b->kind || a->kind == PHASE_SPIKE)
		return false;
	return a->kind == PHASE_STEADY || (x < STEEPER * y && y < STEEPER * x) ||
	       (is_tiny(c, a) && is_tiny(c, b));
}

/* Joins alike neighbours into one piece, which may be of another kind: three small changes can make
 * a rise. */
static size_t join(const struct curve *c, struct phase_piece *pieces, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct phase_piece p = pieces[i];

		while (kept && alike(c, &pieces[kept - 1], &p)) {
			p.first = pieces[--kept].first;
			p.kind = kind_of(c, p.first, p.last);
		}
		pieces[kept++] = p;
	}
	return kept;
}

static bool is_spike(const struct curve *c, size_t first, size_t last)
{
	double from = c->at[first], to = c->at[last], top = 0;

	if ((double)(last - first) > fmax(2, SHORT * (double)(c->count - 1)))
		return false;
	for (size_t k = first; k <= last; k++)
		top = fmax(top, c->at[k]);
	return top - fmax(from, to) >= c->level && fabs(to - from) <= (top - fmin(from, to)) * BACK;
}

/* Makes a spike of each fall with the nearest rise before it that fits. The rises right before that
 * one and the falls right behind belong to it if they fit, too: its first or last part may lie in
 * another interval. */
static size_t find_spikes(const struct curve *c, struct phase_piece *pieces, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct phase_piece p = pieces[i];

		if (p.kind == PHASE_FALL && kept && pieces[kept - 1].kind == PHASE_SPIKE &&
		    is_spike(c, pieces[kept - 1].first, p.last)) {
			pieces[kept - 1].last = p.last;
			continue;
		}
		for (size_t k = kept;
		     p.kind == PHASE_FALL && k-- > 0 && pieces[k].kind != PHASE_SPIKE;)
			if (pieces[k].kind == PHASE_RISE && is_spike(c, pieces[k].first, p.last)) {
				p = (struct phase_piece){ pieces[k].first, p.last, PHASE_SPIKE };
				kept = k;
			}
		while (p.kind == PHASE_SPIKE && kept && pieces[kept - 1].kind == PHASE_RISE &&
		       is_spike(c, pieces[kept - 1].first, p.last))
			p.first = pieces[--kept].first;
		pieces[kept++] = p;
	}
	return kept;
}

static size_t absorb(const struct curve *c, struct phase_piece *pieces, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct phase_piece p = pieces[i], *before = kept ? &pieces[kept - 1] : NULL;

		if (p.kind != PHASE_STEADY || !is_tiny(c, &p)) {
			pieces[kept++] = p;
		} else if (before && (before->kind == PHASE_RISE || before->kind == PHASE_FALL)) {
			before->last = p.last;
		} else if (i + 1 < count &&
			   (pieces[i + 1].kind == PHASE_RISE || pieces[i + 1].kind == PHASE_FALL)) {
			pieces[i + 1].first = p.first;
		} else {
			pieces[kept++] = p;
		}
	}
	return join(c, pieces, kept);
}

/* Returns where a piece that begins at `first` ends if phases end with intervals: a middle goes to
 * the end of the interval that is nearer in height, so that a fall from a peak stays with the fall;
 * but a spike has all intervals that it touches. */
static size_t snapped(const struct curve *c, const struct phase_piece *piece,
		      const struct phase_piece *next, size_t first)
{
	size_t down = piece->last / 2 * 2, up = (piece->last + 1) / 2 * 2;

	if (piece->kind == PHASE_SPIKE || !next)
		return up;
	if (next->kind == PHASE_SPIKE)
		return down;
	return down > first && fabs(c->at[down] - c->at[piece->last]) <
				       fabs(c->at[up] - c->at[piece->last])
		       ? down
		       : up;
}

/* Moves the ends of phases to ends of intervals. */
static size_t snap(const struct curve *c, struct phase_piece *pieces, size_t count)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < count; i++) {
		struct phase_piece p = pieces[i];

		p.first = at;
		p.last = snapped(c, &p, i + 1 < count ? &pieces[i + 1] : NULL, at);
		if (p.last <= p.first)
			continue;
		at = p.last;
		if (p.kind != PHASE_SPIKE)
			p.kind = kind_of(c, p.first, p.last);
		pieces[kept++] = p;
	}
	return join(c, pieces, kept);
}

/* Extends a burst across the end of an interval: its part before or after may be too small for a
 * point of its own. */
static void stretch(const struct curve *c, struct phase_piece *pieces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct phase_piece *p = &pieces[i], *before = i ? p - 1 : NULL,
				   *next = i + 1 < count ? p + 1 : NULL;
		double first_way = p->kind == PHASE_FALL ? -1 : 1,
		       last_way = p->kind == PHASE_RISE ? 1 : -1;

		if (p->kind == PHASE_STEADY)
			continue;
		if (before && before->kind == PHASE_STEADY && before->last > before->first + 2 &&
		    (c->at[p->first] - c->at[p->first - 2]) * first_way > CLEAR * c->noise)
			p->first = before->last -= 2;
		if (next && next->kind == PHASE_STEADY && next->last > next->first + 2 &&
		    (c->at[p->last + 2] - c->at[p->last]) * last_way > CLEAR * c->noise)
			p->last = next->first += 2;
	}
}

static size_t find(const struct phase_sample *samples, size_t count, uint64_t before,
		   struct phase_range out[PHASES_MAX])
{
	struct curve c;
	struct phase_piece *pieces;
	double penalty;
	size_t found;

	curve_init(&c, before, samples, count);
	pieces = mem_zero(c.count, sizeof(*pieces));
	penalty = 2 * c.sigma * c.sigma * log((double)c.count);
	do {
		found = partition(&c, penalty, pieces);
		for (size_t i = 0; i < found; i++)
			pieces[i].kind = kind_of(&c, pieces[i].first, pieces[i].last);
		found = join(&c, pieces, found);
		found = find_spikes(&c, pieces, found);
		found = absorb(&c, pieces, found);
		found = snap(&c, pieces, found);
		penalty *= 2;
	} while (found > PHASES_MAX);
	stretch(&c, pieces, found);
	for (size_t i = 0; i < found; i++)
		out[i] = (struct phase_range){ pieces[i].kind, pieces[i].first / 2,
					       pieces[i].last / 2 - 1 };
	free(pieces);
	curve_deinit(&c);
	return found;
}

size_t phases_find(uint64_t before, const struct phase_sample *samples, size_t count,
		   struct phase_range out[PHASES_MAX])
{
	size_t each = (count + INTERVALS - 1) / INTERVALS, found;
	struct phase_sample *merged;

	if (!count)
		return 0;
	merged = mem_zero(count / each + 1, sizeof(*merged));
	for (size_t i = 0; i < count; i++) {
		struct phase_sample *to = &merged[i / each];

		to->bytes = samples[i].bytes;
		to->most = samples[i].most > to->most ? samples[i].most : to->most;
	}
	found = find(merged, (count + each - 1) / each, before, out);
	free(merged);
	for (size_t i = 0; i < found; i++) {
		out[i].first *= each;
		out[i].last = (out[i].last + 1) * each - 1;
	}
	out[found - 1].last = count - 1;
	return found;
}
