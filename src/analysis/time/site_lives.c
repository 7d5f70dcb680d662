/* SPDX-License-Identifier: Apache-2.0 */
/* site_lives.c: see site_lives.h. */
#include "site_lives.h"

#include <stdlib.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../replay/process_ends.h"

struct site_lives_count {
	struct site_lives *out;
	struct process_ends ends;
	struct {
		uint64_t bytes;
		bool ended;
	} * processes; /* by id */
	uint64_t live, most;
};

static void change_live(struct site_lives_count *c, const struct replay_process *process,
			int64_t bytes, uint64_t time)
{
	if (c->processes[process->id].ended)
		return;
	c->processes[process->id].bytes += (uint64_t)bytes;
	c->live += (uint64_t)bytes;
	if (c->live > c->most) {
		c->most = c->live;
		c->out->peak_time = time;
	}
}

static void site_lives_on_birth(void *context, const struct replay_process *process,
				const struct life *life)
{
	if (site_lives_counted(life))
		change_live(context, process,
			    (int64_t)(life->size * replay_weight(process, life)), life->birth);
}

static void site_lives_on_death(void *context, const struct replay_process *process,
				const struct life *life, const struct life_death *death)
{
	struct site_lives_count *c = context;
	struct site_lives *out = c->out;
	uint64_t age = death->time > life->birth ? death->time - life->birth : 0;
	enum population population = population_of(age, out->duration);
	uint64_t blocks = replay_weight(process, life);

	if (life->inherited)
		return;
	if (!site_lives_counted(life)) {
		out->objects += blocks;
		if (population == POPULATION_SHORT)
			out->short_objects[groups_find(&out->sites, process, life)] += blocks;
		return;
	}
	out->lives[groups_find(&out->sites, process, life)][population] += blocks;
	if (death->end != LIFE_NEVER)
		change_live(c, process, -(int64_t)(life->size * blocks), death->time);
}

/* Ends processes: their blocks end with them, though the replay reports no death. */
static uint64_t site_lives_on_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct site_lives_count *c = context;
	const struct replay_process *p;

	if (!c->ends.order)
		process_ends_init(&c->ends, replay);
	while ((p = process_ends_take(&c->ends, replay, moment))) {
		c->live -= c->processes[p->id].bytes;
		c->processes[p->id].ended = true;
	}
	return process_ends_time(&c->ends, replay);
}

enum population site_lives_usual(const struct site_lives *l, uint32_t site)
{
	const uint32_t *lives = l->lives[site];
	enum population most = POPULATION_SHORT;

	for (unsigned p = 1; p < POPULATIONS; p++)
		if (lives[p] > lives[most])
			most = (enum population)p;
	return most;
}

static uint64_t short_lives(const struct site_lives *l, size_t site)
{
	return (uint64_t)l->lives[site][POPULATION_SHORT] + l->short_objects[site];
}

ORDER_BY(by_most, uint64_t, ORDER_VALUES(*b, *a))

bool *site_lives_shortest(const struct site_lives *l, size_t most)
{
	size_t count = l->sites.count;
	uint64_t *sorted = mem_zero(count + 1, sizeof(*sorted)), least;
	bool *shortest = mem_zero(count + 1, sizeof(*shortest));

	for (size_t i = 0; i < count; i++)
		sorted[i] = short_lives(l, i);
	qsort(sorted, count, sizeof(*sorted), by_most);
	least = most && most <= count && sorted[most - 1] ? sorted[most - 1] : 1;
	for (size_t i = 0; i < count; i++)
		shortest[i] = short_lives(l, i) >= least;
	free(sorted);
	return shortest;
}

struct shiny_err *site_lives_load(struct store *store, const struct filter *filter, bool full_names,
				  bool progress, struct site_lives *out)
{
	SHINY_CLEANUP(site_lives_deinit) struct site_lives lives = { 0 };
	struct site_lives_count c = { .out = &lives };
	struct replay_observer observer = { .context = &c,
					    .birth = site_lives_on_birth,
					    .death = site_lives_on_death,
					    .moment = site_lives_on_moment,
					    .untyped = true };
	struct shiny_err *err = session_duration(store, &lives.duration);

	if (!err)
		err = groups_load(store, GROUP_SITE, full_names, &lives.sites);
	lives.lives = mem_zero(lives.sites.count + 1, sizeof(*lives.lives));
	lives.short_objects = mem_zero(lives.sites.count + 1, sizeof(*lives.short_objects));
	c.processes = mem_zero(store_ids(store, "process"), sizeof(*c.processes));
	if (!err)
		err = replay_run(store, filter, &observer, 1,
				 progress ? "how long each call site's blocks live" : NULL);
	process_ends_deinit(&c.ends);
	free(c.processes);
	if (err)
		return err;
	*out = shiny_steal(lives);
	return NULL;
}

void site_lives_deinit(struct site_lives *l)
{
	groups_deinit(&l->sites);
	free(l->lives);
	free(l->short_objects);
	*l = (struct site_lives){ 0 };
}
