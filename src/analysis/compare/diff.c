/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/hash.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "../replay/replay_together.h"

#define CLOCK_FACTOR   4.0
/* shorter lifetimes depend on the machine and the cost of recording */
#define CLOCK_LEAST_NS 100000
#define LEAST_OCTAVES  0.25 /* two bins of a distribution: less may be rounding to bins */

const char *const diff_measure_names[DIFF_MEASURES] = {
	[DIFF_LIVE] = "live",	  [DIFF_PEAK] = "peak", [DIFF_BYTES] = "bytes",
	[DIFF_BLOCKS] = "blocks", [DIFF_SIZE] = "size", [DIFF_LIFETIME] = "lifetime",
};

bool diff_is_sum(enum diff_measure measure)
{
	return measure != DIFF_PEAK && measure != DIFF_LIFETIME;
}

struct comparing {
	const struct diff_request *request;
	struct breakdown breakdowns[2];
	struct match match, others; /* others: rows of the dimension that `mostly` names */
	struct trackers trackers[2];
	enum breakdown_by by, other;
	struct diff_row *rows;
};

/* ---- counting ---- */

static void add_cells(struct comparing *c, int side)
{
	const struct breakdown *breakdown = &c->breakdowns[side];
	uint64_t *least = mem_zero(c->match.count + 1, sizeof(*least)),
		 *most = mem_zero(c->match.count + 1, sizeof(*most));

	for (size_t i = 0; i < breakdown->cell_count; i++) {
		const struct breakdown_cell *cell = &breakdown->cells[i];
		uint32_t row = c->match.row_of[side][cell->of[c->by]];

		sums_add(&c->rows[row].sides[side].sums, &cell->sums);
		if (cell->sums.allocs + cell->sums.inherited == 0)
			continue;
		least[row] =
			!most[row] || cell->least_size < least[row] ? cell->least_size : least[row];
		most[row] = cell->most_size > most[row] ? cell->most_size : most[row];
	}
	for (size_t i = 0; i < c->match.count; i++)
		c->rows[i].sides[side].size = least[i] == most[i] ? most[i] : 0;
	free(least);
	free(most);
}

/* A tracker a row, and one for all; a set a row, which has both. */
static void track_cells(struct comparing *c, int side)
{
	const struct breakdown *breakdown = &c->breakdowns[side];
	struct trackers *w = &c->trackers[side];
	size_t rows = c->match.count;

	trackers_init(w, rows + 1, breakdown->cell_count, rows, 2 * rows);
	for (size_t i = 0; i < rows; i++) {
		w->at[i].lifetimes = true;
		w->of[2 * i] = (uint32_t)i;
		w->of[2 * i + 1] = (uint32_t)rows;
		w->first[i + 1] = (uint32_t)(2 * i + 2);
	}
	for (size_t i = 0; i < breakdown->cell_count; i++)
		w->set_of[i] = c->match.row_of[side][breakdown->cells[i].of[c->by]];
}

static void take_trackers(struct comparing *c, int side, uint64_t *peak)
{
	for (size_t i = 0; i < c->match.count; i++) {
		const struct trackers *all = &c->trackers[side];
		const struct tracker *w = &all->at[i];
		struct diff_side *s = &c->rows[i].sides[side];

		s->peak_bytes = w->peak_bytes;
		s->episodes = w->episodes;
		s->ended = histogram_total(&w->ages);
		s->p10_ns = trackers_age(all, i, 0.1).about;
		s->p50_ns = trackers_age(all, i, 0.5).about;
		s->p90_ns = trackers_age(all, i, 0.9).about;
		s->p50_steps = trackers_steps(all, i, 0.5).about;
	}
	*peak = c->trackers[side].at[c->match.count].peak_bytes;
	trackers_deinit(&c->trackers[side]);
}

/* Makes a tracker for each row and one for all rows; each row's set has both. */

static double rank_of(uint64_t base, uint64_t new)
{
	double change = (double)new - (double)base;

	return base + new ? change * fabs(change) / ((double)base + (double)new) : 0;
}

/* The same for two sums that may be estimates; 0, too, for a change within the 95 % interval of
 * their difference, less half of what a block of the sample stands for on each side. */
static double estimate_rank(uint64_t base, uint64_t new, double variance)
{
	static const double z = 1.959964;
	double sum = (double)base + (double)new, change = fabs((double)new - (double)base);

	return sum > 0 && variance > 0 && change - variance / sum <= z * sqrt(variance)
		       ? 0
		       : rank_of(base, new);
}

static double bytes_variance(uint64_t base, uint64_t new)
{
	return ((double)base + (double)new) * ESTIMATE_BYTES_UNIT;
}

static double octaves(uint64_t base, uint64_t new)
{
	return log2(((double)new + 1) / ((double)base + 1));
}

/* True if the whole distribution moved: the shortest tenth of one side lives much longer than the
 * longest tenth of the other. */
static bool clock_moved(const struct diff_side *shorter, const struct diff_side *longer,
			double slower)
{
	return (double)longer->p10_ns > CLOCK_FACTOR * slower * (double)shorter->p90_ns &&
	       longer->p50_ns > shorter->p50_ns + CLOCK_LEAST_NS;
}

/* `slower`: factor by which the newer session's machine is slower. */
static double lifetime_rank(const struct diff_side *base, const struct diff_side *new,
			    double slower)
{
	uint64_t blocks = base->ended < new->ended ? base->ended : new->ended;
	double by_steps = octaves(base->p50_steps, new->p50_steps), by_clock = 0;

	if (!blocks)
		return 0;
	if (base->episodes >= DIFF_EPISODES && new->episodes >= DIFF_EPISODES &&
	    (clock_moved(base, new, slower) || clock_moved(new, base, 1 / slower)))
		by_clock = octaves(base->p50_ns, new->p50_ns);
	if (fabs(by_clock) > fabs(by_steps))
		by_steps = by_clock;
	return fabs(by_steps) < LEAST_OCTAVES ? 0 : by_steps * log2(1 + (double)blocks);
}

ORDER_BY(by_real, double, ORDER_VALUES(*a, *b))

/* Returns the median over rows of new lifetime / base lifetime by the clock, for rows that saw as
 * many allocations meanwhile. */
static double slower_by(const struct comparing *c)
{
	enum { ENOUGH = 8 };
	double *ratios = mem_alloc((c->match.count + 1) * sizeof(*ratios)), slower = 1;
	size_t count = 0;

	for (size_t i = 0; i < c->match.count; i++) {
		const struct diff_side *base = &c->rows[i].sides[0], *new = &c->rows[i].sides[1];

		if (base->ended >= ENOUGH && new->ended >= ENOUGH &&
		    base->p50_steps == new->p50_steps && base->p50_ns && new->p50_ns)
			ratios[count++] = (double)new->p50_ns / (double)base->p50_ns;
	}
	if (count >= ENOUGH) {
		qsort(ratios, count, sizeof(*ratios), by_real);
		slower = ratios[count / 2];
	}
	free(ratios);
	return slower;
}

/* Ranks the row's changes; false: the row is the same in both. */
static bool rank_row(struct diff_row *row, bool timed, double slower)
{
	const struct diff_side *base = &row->sides[0], *new = &row->sides[1];
	const struct sums *b = &base->sums, *n = &new->sums;
	double blocks = (double)b->allocs_variance + (double)n->allocs_variance,
	       bytes = bytes_variance(b->bytes_variance, n->bytes_variance);
	bool different = !(blocks > 0) &&
			 (b->allocs != n->allocs || b->bytes != n->bytes || b->live != n->live ||
			  b->live_bytes != n->live_bytes);

	row->ranks[DIFF_LIVE] = estimate_rank(
		b->live_bytes, n->live_bytes,
		bytes_variance(b->live_bytes_variance, n->live_bytes_variance));
	row->ranks[DIFF_BYTES] = estimate_rank(b->bytes, n->bytes, bytes);
	row->ranks[DIFF_BLOCKS] = estimate_rank(b->allocs, n->allocs, blocks);
	if (base->size && new->size)
		row->ranks[DIFF_SIZE] = ((double)new->size - (double)base->size) *
					(double)(new->sums.allocs + new->sums.inherited);
	if (timed) {
		double one = bytes > 0 ? bytes / ((double)b->bytes + (double)n->bytes) : 0;

		row->ranks[DIFF_PEAK] = estimate_rank(
			base->peak_bytes, new->peak_bytes,
			one * ((double)base->peak_bytes + (double)new->peak_bytes));
		/* a sample has few lifetimes, and not what was allocated meanwhile */
		row->ranks[DIFF_LIFETIME] = blocks > 0 ? 0 : lifetime_rank(base, new, slower);
	}
	for (int m = 0; m < DIFF_MEASURES; m++)
		different = different || row->ranks[m] != 0;
	return different;
}

static int by_rank(const void *left, const void *right, void *context)
{
	const struct diff_row *a = left, *b = right;
	double x = a->ranks[*(enum diff_measure *)context],
	       y = b->ranks[*(enum diff_measure *)context];

	if (x == 0 && y == 0) { /* the same in this measure: sort by bytes */
		x = a->ranks[DIFF_BYTES];
		y = b->ranks[DIFF_BYTES];
	}
	if ((x > 0) != (y > 0))
		return x > 0 ? -1 : 1;
	if (fabs(x) != fabs(y))
		return fabs(x) < fabs(y) ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* ---- the part of the other dimension that changed most ---- */

struct diff_part {
	uint64_t pair; /* row << 32 | other row */
	double change, all;
};

ORDER_BY(by_pair, struct diff_part, ORDER_UP(pair))

static void find_mostly(struct comparing *c)
{
	struct diff_part *parts = mem_alloc(
		(c->breakdowns[0].cell_count + c->breakdowns[1].cell_count + 1) * sizeof(*parts));
	struct diff_part *most = mem_zero(c->match.count + 1, sizeof(*most)); /* one for each row */
	size_t count = 0;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < c->breakdowns[side].cell_count; i++) {
			const struct breakdown_cell *cell = &c->breakdowns[side].cells[i];
			uint64_t row = c->match.row_of[side][cell->of[c->by]],
				 other = c->others.row_of[side][cell->of[c->other]];
			/* blocks break ties between rows that differ in no bytes */
			double value = (double)cell->sums.bytes + (double)cell->sums.live_bytes +
				       (double)cell->sums.allocs;

			parts[count++] = (struct diff_part){ row << 32 | other,
							     side ? value : -value, value };
		}
	if (count)
		qsort(parts, count, sizeof(*parts), by_pair);
	for (size_t i = 0, end; i < count; i = end) {
		uint32_t row = (uint32_t)(parts[i].pair >> 32);
		struct diff_part sum = { 0 };

		for (end = i; end < count && parts[end].pair == parts[i].pair; end++) {
			sum.change += parts[end].change;
			sum.all += parts[end].all;
		}
		/* without any change in these, as when only lifetimes changed, the largest part
		 * wins */
		if (fabs(sum.change) < fabs(most[row].change) ||
		    (sum.change == most[row].change && sum.all <= most[row].all))
			continue;
		most[row] = sum;
		free(c->rows[row].mostly);
		c->rows[row].mostly = mem_text(c->others.rows[(uint32_t)parts[i].pair].name);
	}
	free(parts);
	free(most);
}

/* ---- all of it ---- */

static void row_deinit(struct diff_row *row)
{
	free(row->name);
	free(row->full_name);
	free(row->mostly);
}

/* Adds the full name of a type or call site, and whether it is a label. */
static void describe(const struct comparing *c, uint32_t number, struct diff_row *row)
{
	for (int side = 0; side < 2; side++) {
		const struct breakdown *b = &c->breakdowns[side];

		for (size_t i = 0; i < b->names[c->by].count; i++) {
			const char *full;

			if (c->match.row_of[side][i] != number)
				continue;
			full = c->by == BREAKDOWN_TYPE	 ? b->full_types[i]
			       : c->by == BREAKDOWN_SITE ? b->sites[i].name
							 : NULL;
			/* a row of several sites or types has another name */
			if (full && strcmp(b->names[c->by].at[i], row->name) == 0)
				row->full_name = mem_text(full);
			row->label = c->by == BREAKDOWN_TYPE && b->labels[i];
			return;
		}
	}
}

static void arrange(struct comparing *c, struct diff *out)
{
	const char *match = c->request->match;
	double slower = out->timed ? slower_by(c) : 1;
	size_t kept = 0;

	for (size_t i = 0; i < c->match.count; i++) {
		struct diff_row *row = &c->rows[i];
		const struct match_row *matched = &c->match.rows[i];
		bool different = rank_row(row, out->timed, slower);

		row->name = mem_text(matched->name);
		row->how = matched->how;
		for (int side = 0; side < 2; side++) {
			row->sides[side].members = matched->members[side];
			row->sides[side].timed = out->timed;
		}
		if (!different && matched->members[0] && matched->members[1] &&
		    row->sides[1].sums.allocs + row->sides[1].sums.inherited)
			out->same++;
		if (!different || (match && !text_matches(match, row->name))) {
			row_deinit(row);
			continue;
		}
		describe(c, (uint32_t)i, row);
		c->rows[kept++] = *row;
	}
	out->rows = c->rows;
	out->count = kept;
	c->rows = NULL;
	for (int m = 0; m <= DIFF_MEASURES; m++) { /* the requested order is the last */
		enum diff_measure measure = m < DIFF_MEASURES ? (enum diff_measure)m
							      : c->request->order;

		if (kept)
			qsort_r(out->rows, kept, sizeof(*out->rows), by_rank, &measure);
		out->counts[measure] = 0;
		while (out->counts[measure] < kept &&
		       out->rows[out->counts[measure]].ranks[measure] != 0) {
			out->rows[out->counts[measure]].places[measure] =
				(uint32_t)out->counts[measure] + 1;
			out->counts[measure]++;
		}
	}
}

static void take_session(const struct breakdown *c, struct diff_session *out)
{
	out->sums = c->total;
	out->duration = c->duration;
	out->processes = c->processes;
	out->lost = c->lost;
	out->complete = c->complete;
	out->with_events = c->with_events;
}

/* Counts the matched sites by how. Sites without a cell, as of frees, do not count. */
static void count_sites(const struct comparing *c, const struct match *sites, struct diff *out)
{
	bool *used = mem_zero(sites->count + 1, sizeof(*used));

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < c->breakdowns[side].cell_count; i++) {
			uint32_t row =
				sites->row_of[side]
					     [c->breakdowns[side].cells[i].of[BREAKDOWN_SITE]];

			out->sites[sites->rows[row].how] += !used[row];
			used[row] = true;
		}
	free(used);
}

static struct shiny_err *match_both(struct comparing *c, struct store *const stores[2],
				    struct diff *out)
{
	const struct breakdown *const breakdowns[2] = { &c->breakdowns[0], &c->breakdowns[1] };
	struct match types = { 0 }, sites = { 0 };
	bool with_sites = c->by == BREAKDOWN_SITE || c->other == BREAKDOWN_SITE;
	struct shiny_err *err = match_load(stores, breakdowns, BREAKDOWN_TYPE, NULL, &types);

	if (!err && with_sites)
		err = match_load(stores, breakdowns, BREAKDOWN_SITE, &types, &sites);
	if (!err && with_sites)
		count_sites(c, &sites, out);
	if (!err && c->by != BREAKDOWN_TYPE && c->by != BREAKDOWN_SITE)
		err = match_load(stores, breakdowns, c->by, NULL, &c->match);
	if (c->by == BREAKDOWN_TYPE)
		c->match = types;
	else
		c->others = types;
	if (c->by == BREAKDOWN_SITE)
		c->match = sites;
	else if (c->by == BREAKDOWN_TYPE)
		c->others = sites;
	return err;
}

struct following {
	struct comparing *comparing;
	int side;
	struct store *store;
	const struct filter *filter;
	const char *title;
	struct diff_session *out;
};

static struct shiny_err *follow(void *context)
{
	const struct following *f = context;
	struct comparing *c = f->comparing;

	track_cells(c, f->side);
	SHINY_TRY(tracker_run(f->store, f->filter, &c->breakdowns[f->side], &c->trackers[f->side],
			      f->title));
	take_trackers(c, f->side, &f->out->peak_bytes);
	return NULL;
}

/* Follows both sessions at the same time; the one with more events shows the progress. */
static struct shiny_err *follow_both(struct comparing *c, struct store *const stores[2],
				     const struct filter filters[2], struct diff *out)
{
	int longer = c->breakdowns[1].total.allocs > c->breakdowns[0].total.allocs;
	const char *title = c->request->progress ? "following both sessions' blocks" : NULL;
	struct following sides[2];
	struct replay_task tasks[2];

	for (int side = 0; side < 2; side++) {
		sides[side] = (struct following){ .comparing = c,
						  .side = side,
						  .store = stores[side],
						  .filter = &filters[side],
						  .title = side == longer ? title : NULL,
						  .out = &out->sessions[side] };
		tasks[side] = (struct replay_task){ follow, &sides[side] };
	}
	return replay_together(tasks, 2);
}

static struct shiny_err *compare(struct comparing *c, struct store *const stores[2],
				 const struct filter filters[2], struct diff *out)
{
	bool progress = c->request->progress;
	struct shiny_err *err = NULL;

	for (int side = 0; !err && side < 2; side++)
		err = breakdown_load(stores[side], &filters[side], c->request->rules,
				     c->request->full_names,
				     !progress ? NULL
				     : side    ? "counting the new session's blocks"
					       : "counting the base's blocks",
				     &c->breakdowns[side]);
	if (!err)
		err = match_both(c, stores, out);
	if (err)
		return err;
	c->rows = mem_zero(c->match.count + 1, sizeof(*c->rows));
	out->with_events = c->breakdowns[0].with_events && c->breakdowns[1].with_events;
	out->timed = out->with_events && !c->request->sums_only;
	for (int side = 0; side < 2; side++) {
		take_session(&c->breakdowns[side], &out->sessions[side]);
		add_cells(c, side);
	}
	if (out->timed)
		err = follow_both(c, stores, filters, out);
	if (!err)
		find_mostly(c);
	return err;
}

struct shiny_err *diff_load(struct store *const stores[2], const struct filter filters[2],
			    const struct diff_request *request, struct diff *out)
{
	struct comparing c = { .request = request,
			       .by = request->by,
			       .other = request->by == BREAKDOWN_TYPE ? BREAKDOWN_SITE
								      : BREAKDOWN_TYPE };
	struct diff diff = { 0 };
	struct shiny_err *err = compare(&c, stores, filters, &diff);

	if (!err)
		arrange(&c, &diff);
	for (size_t i = 0; c.rows && i < c.match.count; i++)
		row_deinit(&c.rows[i]);
	free(c.rows);
	for (int side = 0; side < 2; side++) {
		trackers_deinit(&c.trackers[side]);
		breakdown_deinit(&c.breakdowns[side]);
	}
	match_deinit(&c.match);
	match_deinit(&c.others);
	if (err)
		return err;
	*out = diff;
	return NULL;
}

void diff_deinit(struct diff *diff)
{
	for (size_t i = 0; i < diff->count; i++)
		row_deinit(&diff->rows[i]);
	free(diff->rows);
	*diff = (struct diff){ 0 };
}
