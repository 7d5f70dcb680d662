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

enum { SETTLING = LEAK_MOMENTS / 10, QUARTERS = 4, QUARTER = (LEAK_MOMENTS - SETTLING) / QUARTERS };

/* ---- counting ---- */

/* A row's current counts, outside the row, which has many cache lines. */
struct leaks_live {
	uint64_t blocks, bytes, made;
};

struct leaks_count {
	const struct groups *groups;
	const struct suppressions *suppressions;
	struct leak_row *rows; /* one for each group */
	struct leaks_live *live;
	uint64_t suppressed_bytes, step;
	uint64_t *bytes_at_first; /* one for each row: bytes at the first counted moment */
	unsigned moment;
};

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
	live->blocks++;
	live->bytes += life->size;
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
	struct leaks_live *from, *to;

	if (life->inherited)
		return;
	old.vtable = before;
	from = &c->live[groups_find(c->groups, process, &old)];
	to = &c->live[groups_find(c->groups, process, life)];
	from->blocks--;
	from->bytes -= life->size;
	to->blocks++;
	to->bytes += life->size;
}

static void leaks_on_death(void *context, const struct replay_process *process,
			   const struct life *life, const struct life_death *death)
{
	struct leaks_count *c = context;
	uint32_t group = groups_find(c->groups, process, life);
	struct leak_row *row = &c->rows[group];

	c->live[group].made += !life->inherited;
	if (!life->inherited) {
		c->live[group].blocks--;
		c->live[group].bytes -= life->size;
	}
	if (death->end != LIFE_NEVER || life->inherited)
		return;
	if (suppressions_hide(c->suppressions, life->stack)) {
		row->suppressed++;
		c->suppressed_bytes += life->size;
		return;
	}
	row->blocks++;
	row->bytes += life->size;
	row->abandoned += process->early;
	row->abandoned_bytes += process->early ? life->size : 0;
	if (life->birth > row->youngest_ns ||
	    (life->birth == row->youngest_ns && life->stack > row->stack))
		row->stack = life->stack;
	if (!row->oldest_ns || life->birth < row->oldest_ns)
		row->oldest_ns = life->birth;
	if (life->birth > row->youngest_ns)
		row->youngest_ns = life->birth;
}

/* ---- growth ---- */

/* True if every quarter adds at least a quarter of its share. */
static bool rises(const struct leak_row *row)
{
	uint32_t first = row->counts[SETTLING], last = row->counts[LEAK_MOMENTS - 1];

	for (unsigned q = 0; q < QUARTERS; q++) {
		uint32_t from = row->counts[SETTLING + q * QUARTER],
			 to = row->counts[SETTLING + (q + 1) * QUARTER - 1];

		if (last <= first || to <= from ||
		    (uint64_t)(to - from) * QUARTERS * QUARTERS < last - first)
			return false;
	}
	return true;
}

static void fit(struct leak_row *row, uint64_t step, uint64_t bytes_at_first)
{
	double n = LEAK_MOMENTS - SETTLING, seconds = (double)step / 1e9, mean_x = 0, mean_y = 0,
	       xx = 0, xy = 0, residual = 0, a;

	for (unsigned i = SETTLING; i < LEAK_MOMENTS; i++) {
		mean_x += i * seconds / n;
		mean_y += row->counts[i] / n;
	}
	for (unsigned i = SETTLING; i < LEAK_MOMENTS; i++) {
		double x = i * seconds - mean_x;

		xx += x * x;
		xy += x * (row->counts[i] - mean_y);
	}
	if (xx <= 0)
		return;
	row->slope = xy / xx;
	a = mean_y - row->slope * mean_x;
	for (unsigned i = SETTLING; i < LEAK_MOMENTS; i++) {
		double off = row->counts[i] - a - row->slope * (i * seconds);

		residual += off * off;
	}
	row->slope_error = sqrt(residual / (n - 2)) / sqrt(xx);
	if (row->bytes > bytes_at_first)
		row->bytes_slope = (double)(row->bytes - bytes_at_first) /
				   (seconds * (LEAK_MOMENTS - SETTLING));
	row->grows = row->slope > LEAK_SURE * row->slope_error && rises(row);
}

ORDER_BY(by_growth, struct leak_row,
	 ORDER_FIRST(grows) ?: (a->grows ? ORDER_DOWN(bytes_slope) : 0) ?: ORDER_DOWN(bytes)
		 ?: ORDER_TEXT(name))

static void arrange(struct leaks *out, struct leaks_count *c, const struct groups *groups,
		    const char *match)
{
	for (size_t i = 0; i < groups->count; i++) {
		struct leak_row *row = &c->rows[i];

		if ((!row->blocks && !row->suppressed) ||
		    (match && !text_matches(match, groups->names[i])))
			continue;
		out->blocks += row->blocks;
		out->bytes += row->bytes;
		out->abandoned += row->abandoned;
		out->abandoned_bytes += row->abandoned_bytes;
		out->suppressed += row->suppressed;
		if (!row->blocks)
			continue;
		row->made = c->live[i].made;
		fit(row, c->step, c->bytes_at_first[i]);
		row->name = mem_text(groups->names[i]);
		if (groups->full_names && groups->full_names[i])
			row->full_name = mem_text(groups->full_names[i]);
		out->rows[out->count++] = *row;
	}
	if (out->count)
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
