/* SPDX-License-Identifier: Apache-2.0 */
#include "phase_rows.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"

struct phase_counter {
	const struct phase *phases;
	size_t phase_count;
	const struct groups *groups[2]; /* types, sites */
	struct phase_row *rows[2];      /* by phase and group; names are not set */
};

/* Intervals, and so phases, end with their last nanosecond. */
static size_t phase_of(const struct phase_counter *c, uint64_t time)
{
	size_t i = 0;

	while (i + 1 < c->phase_count && time > c->phases[i].end)
		i++;
	return i;
}

static void count(struct phase_row *rows, size_t groups, uint32_t group, size_t born, size_t died,
		  bool stays, uint64_t bytes)
{
	struct phase_row *row = &rows[born * groups + group];

	row->blocks++;
	row->bytes += bytes;
	if (died == born && !stays)
		return;
	row->kept_blocks++;
	row->kept_bytes += bytes;
	if (stays)
		return;
	row = &rows[died * groups + group];
	row->ended_blocks++;
	row->ended_bytes += bytes;
}

static void on_death(void *context, const struct replay *replay, const struct replay_process *p,
		     const struct life *life, const struct life_death *death)
{
	struct phase_counter *c = context;
	size_t born = phase_of(c, life->birth), died = phase_of(c, death->time);

	if (life->inherited)
		return;
	for (unsigned i = 0; i < 2; i++)
		count(c->rows[i], c->groups[i]->count, groups_find(c->groups[i], replay, p, life),
		      born, died < born ? born : died, death->end == LIFE_NEVER && !p->early,
		      life->size);
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
				  const struct groups *types, bool progress,
				  struct phase *phases, size_t phase_count)
{
	struct groups sites = { 0 };
	struct phase_counter c = { .phases = phases,
				   .phase_count = phase_count,
				   .groups = { types, &sites } };
	struct replay_observer observer = { .context = &c, .death = on_death };
	struct shiny_err *err = groups_load(store, GROUP_SITE, false, &sites);

	for (unsigned i = 0; !err && i < 2; i++)
		c.rows[i] = mem_zero(phase_count * c.groups[i]->count, sizeof(*c.rows[i]));
	if (!err)
		err = replay_run(store, filter, &observer, 1,
				 progress ? "attributing phases" : NULL);
	for (size_t i = 0; !err && i < phase_count; i++) {
		struct phase *phase = &phases[i];

		take_largest(c.rows[0] + i * types->count, types, phase, phase->types);
		take_largest(c.rows[1] + i * sites.count, &sites, phase, phase->sites);
	}
	free(c.rows[0]);
	free(c.rows[1]);
	groups_deinit(&sites);
	return err;
}
