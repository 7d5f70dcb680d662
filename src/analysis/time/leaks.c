/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "leaks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "../attribute/suppressions.h"

enum { SETTLING = LEAK_MOMENTS / 10, QUARTERS = 4 };
enum { WORK_MOMENTS = 2 * LEAK_MOMENTS, WORK_LEAST = 16 }; /* by the clock of allocations */

/* ---- counting ---- */

/* A row's current counts, outside the row, which has many cache lines. */
struct leaks_live {
	uint64_t blocks, bytes, made;
};

/* The counts of all rows by the clock of allocations: one moment every `step` of them. When there
 * is no room for a moment, every other one is dropped, and `step` doubles. */
struct leaks_work {
	uint32_t *counts; /* of the rows at the first moment, at the second one, … */
	size_t count;	  /* of moments */
	uint64_t births, step;
};

struct leaks_count {
	const struct groups *groups;
	const struct suppressions *suppressions;
	struct leak_row *rows; /* one for each group */
	struct leaks_live *live;
	uint64_t suppressed_bytes, step;
	uint64_t *bytes_at_first; /* one for each row: bytes at the first counted moment */
	unsigned moment;
	struct leaks_work work;
};

static void count_work(struct leaks_count *c)
{
	struct leaks_work *w = &c->work;
	size_t rows = c->groups->count;

	if (++w->births % w->step)
		return;
	if (w->count == WORK_MOMENTS) {
		for (size_t k = 0; k < WORK_MOMENTS / 2; k++)
			memcpy(w->counts + k * rows, w->counts + (2 * k + 1) * rows,
			       rows * sizeof(*w->counts));
		w->count /= 2;
		w->step *= 2;
		if (w->births % w->step)
			return;
	}
	for (size_t i = 0; i < rows; i++)
		w->counts[w->count * rows + i] = (uint32_t)c->live[i].blocks;
	w->count++;
}

static uint64_t leaks_on_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct leaks_count *c = context;

	for (size_t i = 0; i < c->groups->count; i++) {
		c->rows[i].counts[c->moment] = (uint32_t)c->live[i].blocks;
		if (c->moment == SETTLING)
			c->bytes_at_first[i] = c->live[i].bytes;
	}
	return ++c->moment < LEAK_MOMENTS ? moment + c->step : UINT64_MAX;
}

static void leaks_on_birth(void *context, const struct replay_process *process,
			   const struct life *life)
{
	struct leaks_count *c = context;
	struct leaks_live *live = &c->live[groups_find(c->groups, process, life)];

	if (life->inherited)
		return;
	live->blocks += replay_weight(process, life);
	live->bytes += life->size * replay_weight(process, life);
	count_work(c);
}

static void leaks_on_resize(void *context, const struct replay_process *process,
			    const struct life *life, uint64_t before)
{
	struct leaks_count *c = context;

	if (!life->inherited)
		c->live[groups_find(c->groups, process, life)].bytes += life->size - before;
}

/* The block may change its row. */
static void on_vtable(void *context, const struct replay_process *process, const struct life *life,
		      uint32_t before)
{
	struct leaks_count *c = context;
	struct life old = *life;
	uint64_t blocks = replay_weight(process, life);
	struct leaks_live *from, *to;

	if (life->inherited)
		return;
	old.vtable = before;
	from = &c->live[groups_find(c->groups, process, &old)];
	to = &c->live[groups_find(c->groups, process, life)];
	from->blocks -= blocks;
	from->bytes -= life->size * blocks;
	to->blocks += blocks;
	to->bytes += life->size * blocks;
}

static void leaks_on_death(void *context, const struct replay_process *process,
			   const struct life *life, const struct life_death *death)
{
	struct leaks_count *c = context;
	uint32_t group = groups_find(c->groups, process, life);
	struct leak_row *row = &c->rows[group];
	uint64_t blocks = replay_weight(process, life), bytes = life->size * blocks;

	if (!life->inherited) {
		c->live[group].made += blocks;
		c->live[group].blocks -= blocks;
		c->live[group].bytes -= bytes;
	}
	if (death->end != LIFE_NEVER || life->inherited)
		return;
	if (suppressions_hide(c->suppressions, life->stack)) {
		row->suppressed += blocks;
		c->suppressed_bytes += bytes;
		return;
	}
	estimated_add(&row->left, life->size, blocks);
	row->abandoned += process->early ? blocks : 0;
	row->abandoned_bytes += process->early ? bytes : 0;
	if (life->birth > row->youngest_ns ||
	    (life->birth == row->youngest_ns && life->stack > row->stack))
		row->stack = life->stack;
	if (!row->oldest_ns || life->birth < row->oldest_ns)
		row->oldest_ns = life->birth;
	if (life->birth > row->youngest_ns)
		row->youngest_ns = life->birth;
}

/* ---- growth ---- */

/* A line that is fitted to counts: what it gains from one to the next, and the standard error. */
struct leaks_line {
	double slope, error;
};

static struct leaks_line fit(const uint32_t *counts, size_t count)
{
	double mean_x = ((double)count - 1) / 2, mean_y = 0, xx = 0, xy = 0, residual = 0;
	struct leaks_line line = { 0 };

	for (size_t i = 0; i < count; i++) {
		mean_y += counts[i] / (double)count;
		xx += ((double)i - mean_x) * ((double)i - mean_x);
	}
	for (size_t i = 0; i < count; i++)
		xy += ((double)i - mean_x) * (counts[i] - mean_y);
	line.slope = xy / xx;
	for (size_t i = 0; i < count; i++) {
		double off = counts[i] - mean_y - line.slope * ((double)i - mean_x);

		residual += off * off;
	}
	line.error = sqrt(residual / ((double)count - 2)) / sqrt(xx);
	return line;
}

/* True if the counts from `from` to `to` add at least 1/LEAK_ADDS of the rise of `count` ones. */
static bool adds(const uint32_t *counts, size_t count, size_t from, size_t to)
{
	uint32_t first = counts[0], last = counts[count - 1];

	return last > first && counts[to] > counts[from] &&
	       (uint64_t)(counts[to] - counts[from]) * LEAK_ADDS >= last - first;
}

/* True if the counts rise throughout, as leaks.h says. */
static bool rises(const uint32_t *counts, size_t count)
{
	struct leaks_line line = fit(counts, count);

	for (size_t q = 0; q < QUARTERS; q++)
		if (!adds(counts, count, q * count / QUARTERS, (q + 1) * count / QUARTERS - 1))
			return false;
	return line.slope > LEAK_SURE * line.error;
}

/* The same, by the clock of allocations; the last count is the one at the session's end. */
static bool rises_by_work(const struct leaks_count *c, size_t group)
{
	const struct leaks_work *w = &c->work;
	uint32_t counts[WORK_MOMENTS + 1];
	size_t settling = w->count / 10;

	if (w->count < WORK_LEAST)
		return false;
	for (size_t k = 0; k < w->count; k++)
		counts[k] = w->counts[k * c->groups->count + group];
	counts[w->count] = c->rows[group].counts[LEAK_MOMENTS - 1];
	return rises(counts + settling, w->count + 1 - settling);
}

static void judge_row(struct leak_row *row, const struct leaks_count *c, size_t group)
{
	const uint32_t *counts = row->counts + SETTLING;
	enum { COUNT = LEAK_MOMENTS - SETTLING };
	double seconds = (double)c->step / 1e9;
	struct leaks_line line = fit(counts, COUNT);

	row->slope = line.slope / seconds;
	row->slope_error = line.error / seconds;
	if (row->left.bytes > c->bytes_at_first[group])
		row->bytes_slope =
			(double)(row->left.bytes - c->bytes_at_first[group]) / (seconds * COUNT);
	row->grows = adds(row->counts, LEAK_MOMENTS, LEAK_MOMENTS / 2, LEAK_MOMENTS - 1) &&
		     (rises(counts, COUNT) || rises_by_work(c, group));
}

/* True if two rows have the same course over the time. */
static bool are_alike(const struct leak_row *a, const struct leak_row *b)
{
	double rise_a = (double)a->counts[LEAK_MOMENTS - 1] - a->counts[SETTLING],
	       rise_b = (double)b->counts[LEAK_MOMENTS - 1] - b->counts[SETTLING];

	if (rise_a <= 0 || rise_b <= 0)
		return false;
	for (size_t i = SETTLING; i < LEAK_MOMENTS; i++)
		if (fabs(((double)a->counts[i] - a->counts[SETTLING]) / rise_a -
			 ((double)b->counts[i] - b->counts[SETTLING]) / rise_b) > 1.0 / LEAK_ALIKE)
			return false;
	return true;
}

/* Rows that grow as one of the first `grown` rows, which grow, grow too. */
static void judge_alike(struct leaks *leaks)
{
	size_t grown = 0;

	while (grown < leaks->count && leaks->rows[grown].grows)
		grown++;
	for (size_t i = grown; i < leaks->count; i++)
		for (size_t k = 0; k < grown && !leaks->rows[i].grows; k++)
			leaks->rows[i].grows = are_alike(&leaks->rows[i], &leaks->rows[k]);
}

ORDER_BY(by_growth, struct leak_row,
	 ORDER_FIRST(grows) ?: (a->grows ? ORDER_DOWN(bytes_slope) : 0) ?: ORDER_DOWN(left.bytes)
		 ?: ORDER_TEXT(name))

static void arrange(struct leaks *out, struct leaks_count *c, const struct groups *groups,
		    const char *match)
{
	for (size_t i = 0; i < groups->count; i++) {
		struct leak_row *row = &c->rows[i];

		if ((!row->left.blocks && !row->suppressed) ||
		    (match && !text_matches(match, groups->names[i])))
			continue;
		estimated_merge(&out->left, &row->left);
		out->abandoned += row->abandoned;
		out->abandoned_bytes += row->abandoned_bytes;
		out->suppressed += row->suppressed;
		if (!row->left.blocks)
			continue;
		row->made = c->live[i].made;
		judge_row(row, c, i);
		row->name = mem_text(groups->names[i]);
		if (groups->full_names && groups->full_names[i])
			row->full_name = mem_text(groups->full_names[i]);
		out->rows[out->count++] = *row;
	}
	if (!out->count)
		return;
	qsort(out->rows, out->count, sizeof(*out->rows), by_growth);
	judge_alike(out);
	qsort(out->rows, out->count, sizeof(*out->rows), by_growth);
}

struct shiny_err *leaks_load(struct store *store, const struct filter *filter, enum group_by by,
			     const char *match, const char *suppressions, bool full_names,
			     bool progress, struct leaks *out)
{
	struct groups groups = { 0 };
	struct suppressions hidden = { 0 };
	struct leaks_count c = { .groups = &groups, .suppressions = &hidden };
	struct replay_observer observer = { .context = &c,
					    .birth = leaks_on_birth,
					    .death = leaks_on_death,
					    .resize = leaks_on_resize,
					    .vtable = on_vtable,
					    .moment = leaks_on_moment,
					    .untyped = by == GROUP_SITE || by == GROUP_TAG };
	SHINY_CLEANUP(leaks_deinit) struct leaks leaks = { 0 };
	struct shiny_err *err = session_duration(store, &leaks.duration);

	if (!err)
		err = suppressions_load(store, suppressions, false, &hidden);
	if (!err)
		err = groups_load(store, by, full_names, &groups);
	if (!err) {
		c.rows = mem_zero(groups.count, sizeof(*c.rows));
		c.live = mem_zero(groups.count, sizeof(*c.live));
		c.bytes_at_first = mem_zero(groups.count, sizeof(*c.bytes_at_first));
		c.work.counts = mem_zero(groups.count, WORK_MOMENTS * sizeof(*c.work.counts));
		c.work.step = 1;
		c.step = leaks.duration / LEAK_MOMENTS ?: 1;
		observer.first_moment = c.step - 1; /* the last is the session's end */
		err = replay_run(store, filter, &observer, 1,
				 progress ? "looking for what stays" : NULL);
	}
	if (!err) {
		leaks.rows = mem_zero(groups.count, sizeof(*leaks.rows));
		leaks.suppressed_bytes = c.suppressed_bytes;
		arrange(&leaks, &c, &groups, match);
	}
	suppressions_deinit(&hidden);
	free(c.rows);
	free(c.live);
	free(c.bytes_at_first);
	free(c.work.counts);
	groups_deinit(&groups);
	if (err)
		return err;
	*out = shiny_steal(leaks);
	return NULL;
}

static void row_deinit(struct leak_row *row)
{
	free(row->name);
	free(row->full_name);
}

void leaks_keep(struct leaks *l, leaks_keeps_fn *keeps, void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		if (keeps(context, &l->rows[i]))
			l->rows[kept++] = l->rows[i];
		else
			row_deinit(&l->rows[i]);
	}
	l->count = kept;
}

void leaks_deinit(struct leaks *l)
{
	for (size_t i = 0; i < l->count; i++)
		row_deinit(&l->rows[i]);
	free(l->rows);
	*l = (struct leaks){ 0 };
}
