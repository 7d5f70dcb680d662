/* SPDX-License-Identifier: Apache-2.0 */
#include "phase_rows.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"

struct phase_counter {
	const struct phase *phases;
	size_t phase_count;
	const struct groups *groups[2]; /* types, sites */
	struct phase_row *rows[2];      /* by phase and group, without names */
	uint8_t *phase_of;              /* interval → phase */
};

/* Returns the phase of a time; intervals, and so phases, include their last nanosecond. */
static size_t phase_of(const struct phase_counter *c, uint64_t time)
{
	size_t i = 0;

	while (i + 1 < c->phase_count && time > c->phases[i].end)
		i++;
	return i;
}

/* Counts blocks for one dimension of groups; `born` and `died` are phases. */
static void count(struct phase_counter *c, unsigned by, size_t born, size_t died,
		  const struct phase_log_row *what)
{
	size_t groups = c->groups[by]->count;
	struct phase_row *row = &c->rows[by][born * groups + what->groups[by]];

	estimated_merge(&row->began, &what->sum);
	if (died == born && !what->stays)
		return;
	estimated_merge(&row->kept, &what->sum);
	if (what->stays)
		return;
	row = &c->rows[by][died * groups + what->groups[by]];
	estimated_merge(&row->ended, &what->sum);
}

static void phase_rows_on_death(void *context, const struct replay_process *p,
				const struct life *life, const struct life_death *death)
{
	struct phase_counter *c = context;
	size_t born = phase_of(c, life->birth), died = phase_of(c, death->time);
	struct phase_log_row what = { .stays = phase_stays(p, death),
				      .groups = { groups_find(c->groups[0], p, life),
						  groups_find(c->groups[1], p, life) } };

	if (life->inherited)
		return;
	estimated_add(&what.sum, life->size, replay_weight(p, life));
	for (unsigned i = 0; i < 2; i++)
		count(c, i, born, died < born ? born : died, &what);
}

static void on_row(void *context, const struct phase_log_row *row)
{
	struct phase_counter *c = context;

	for (unsigned i = 0; i < 2; i++)
		if (row->has[i])
			count(c, i, c->phase_of[row->born], c->phase_of[row->died], row);
}

/* Counts the log's blocks; false: the log was dropped. */
static bool count_log(struct phase_counter *c, struct phase_log *log)
{
	size_t intervals = c->phases[c->phase_count - 1].last + 1;
	bool all;

	c->phase_of = mem_zero(intervals, sizeof(*c->phase_of));
	for (size_t i = 0; i < c->phase_count; i++)
		for (size_t k = c->phases[i].first; k <= c->phases[i].last; k++)
			c->phase_of[k] = (uint8_t)i;
	all = phase_log_read(log, on_row, c);
	free(c->phase_of);
	return all;
}

static void take_largest(const struct phase_row *rows, const struct groups *groups,
			 const struct phase *phase, struct phase_row out[PHASE_ROWS])
{
	size_t top[PHASE_ROWS], count = 0;

	for (size_t i = 0; i < groups->count; i++) {
		size_t place = count;

		while (place &&
		       phase_weight(phase, &rows[i]) > phase_weight(phase, &rows[top[place - 1]]))
			place--;
		if (!phase_weight(phase, &rows[i]) || place == PHASE_ROWS)
			continue;
		count += count < PHASE_ROWS;
		memmove(&top[place + 1], &top[place], (count - place - 1) * sizeof(*top));
		top[place] = i;
	}
	for (size_t k = 0; k < count; k++) {
		out[k] = rows[top[k]];
		out[k].name = mem_text(groups->names[top[k]]);
	}
}

struct shiny_err *phase_rows_load(struct store *store, const struct filter *filter,
				  const struct groups groups[2], struct phase_log *log,
				  bool progress, struct phase *phases, size_t phase_count)
{
	struct phase_counter c = { .phases = phases,
				   .phase_count = phase_count,
				   .groups = { &groups[0], &groups[1] } };
	struct replay_observer observer = { .context = &c, .death = phase_rows_on_death };
	struct shiny_err *err = NULL;

	for (unsigned i = 0; i < 2; i++)
		c.rows[i] = mem_zero(phase_count * groups[i].count, sizeof(*c.rows[i]));
	if (!log || !count_log(&c, log))
		err = replay_run(store, filter, &observer, 1,
				 progress ? "attributing phases" : NULL);
	for (size_t i = 0; !err && i < phase_count; i++) {
		struct phase *phase = &phases[i];

		for (unsigned k = 0; k < 2; k++)
			take_largest(c.rows[k] + i * groups[k].count, &groups[k], phase,
				     k ? phase->sites : phase->types);
	}
	free(c.rows[0]);
	free(c.rows[1]);
	return err;
}
