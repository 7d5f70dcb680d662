/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "growth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/hash_table.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"

#define GEOMETRIC_FACTOR 1.25
#define MAJORITY         0.7

const char *const growth_policy_names[GROWTH_POLICIES] = {
	[GROWTH_GEOMETRIC] = "geometric",
	[GROWTH_CONSTANT] = "constant",
	[GROWTH_JUST_ENOUGH] = "just enough",
	[GROWTH_MIXED] = "mixed",
};

/* A buffer that has grown, by its present block. */
struct chain {
	uint64_t address;
	uint32_t process, group;
	uint64_t first, size, cumulative, steps, last_step;
};

/* The last block that a thread allocated. */
struct latest {
	uint64_t address, size, number;
	uint32_t group;
	bool taken; /* it already succeeds a block, or does not exist */
};

struct steps { /* of a site, to find its policy */
	uint64_t geometric, constant, small, small_bytes, last_constant;
	double log_factor;
};

struct growth_finder {
	const struct groups *groups;
	struct growth_row *rows;
	struct steps *steps;
	VEC(struct chain) chains;
	struct hash_table index; /* index of the chains */
	struct latest *latest; /* indexed by thread id */
	size_t latest_count;
};

/* ---- tables ---- */

static uint32_t find_chain(const struct growth_finder *f, uint32_t process, uint64_t address)
{
	return hash_table_find(&f->index, hash_keys(address, process), i,
			       f->chains.at[i].address == address &&
				       f->chains.at[i].process == process);
}

static void chain_put(struct growth_finder *f, const struct chain *chain)
{
	uint32_t at = find_chain(f, chain->process, chain->address);

	if (at == HASH_NONE) {
		at = (uint32_t)f->chains.count;
		vec_push(&f->chains);
		hash_table_add(&f->index, hash_keys(chain->address, chain->process), at);
	}
	f->chains.at[at] = *chain;
}

/* Removes a chain; false: there is none. */
static bool chain_take(struct growth_finder *f, uint32_t process, uint64_t address,
		       struct chain *out)
{
	uint32_t at = find_chain(f, process, address), last = (uint32_t)f->chains.count - 1;
	const struct chain *filler;

	if (at == HASH_NONE)
		return false;
	*out = f->chains.at[at];
	hash_table_remove(&f->index, hash_keys(address, process), at);
	if (at != last) {
		filler = &f->chains.at[last];
		hash_table_move(&f->index, hash_keys(filler->address, filler->process), last, at);
		f->chains.at[at] = *filler;
	}
	f->chains.count--;
	return true;
}

static struct latest *latest_of(struct growth_finder *f, uint32_t thread)
{
	f->latest = mem_reach(f->latest, &f->latest_count, thread, sizeof(*f->latest), 64);
	return &f->latest[thread];
}

/* ---- chains ---- */

static uint64_t cost_of_doubling(uint64_t first, uint64_t last)
{
	uint64_t sum = 0, size = first ? first : 1;

	for (; size < last && size < UINT64_MAX / 4; size *= 2)
		sum += size;
	return sum + size;
}

static void end_chain(struct growth_finder *f, const struct chain *chain)
{
	struct growth_row *row = &f->rows[chain->group];

	row->chains++;
	row->cumulative += chain->cumulative;
	row->doubling += cost_of_doubling(chain->first, chain->size);
	if (chain->size > row->largest)
		row->largest = chain->size;
	if (chain->steps > row->most_steps)
		row->most_steps = chain->steps;
}

static void count_step(struct growth_finder *f, struct chain *chain, uint64_t from, uint64_t to)
{
	struct steps *s = &f->steps[chain->group];
	uint64_t step = to - from;

	f->rows[chain->group].steps++;
	if (chain->steps && step == chain->last_step) {
		s->constant++;
		s->last_constant = step;
	} else if ((double)to >= GEOMETRIC_FACTOR * (double)from) {
		s->geometric++;
		s->log_factor += log((double)to / (double)(from ? from : 1));
	} else {
		s->small++;
		s->small_bytes += step;
	}
	chain->last_step = step;
	chain->steps++;
	chain->cumulative += to;
	chain->size = to;
}

/* Continues the buffer `old` in a larger block. */
static void grow(struct growth_finder *f, uint32_t process, uint32_t group, const struct life *old,
		 uint64_t address, uint64_t size, bool by_realloc)
{
	struct chain chain;

	if (!chain_take(f, process, old->address, &chain))
		chain = (struct chain){ .first = old->size,
					.size = old->size,
					.cumulative = old->size };
	chain.process = process;
	chain.group = group; /* the site of the latest step */
	chain.address = address;
	count_step(f, &chain, old->size, size);
	f->rows[group].reallocs += by_realloc;
	chain_put(f, &chain);
}

static void growth_on_birth(void *context, const struct replay_process *process,
			    const struct life *life)
{
	struct growth_finder *f = context;

	*latest_of(f, life->thread) =
		(struct latest){ life->address, life->size, life->number,
				 groups_find(f->groups, process, life), life->realloced };
}

static void growth_on_death(void *context, const struct replay_process *process,
			    const struct life *life, const struct life_death *death)
{
	struct growth_finder *f = context;
	uint32_t group = groups_find(f->groups, process, life);
	struct latest *latest;
	struct chain chain;

	if (death->end == LIFE_REALLOCED && death->next->size > life->size) {
		grow(f, process->id, groups_find(f->groups, process, death->next), life,
		     death->next->address, death->next->size, true);
		return;
	}
	latest = latest_of(f, death->thread);
	if (death->end == LIFE_FREED && !life->inherited && !latest->taken &&
	    latest->group == group && latest->number > life->number && latest->size > life->size) {
		latest->taken = true;
		grow(f, process->id, group, life, latest->address, latest->size, false);
		return;
	}
	if (chain_take(f, process->id, life->address, &chain))
		end_chain(f, &chain);
}

/* ---- rows ---- */

static void judge(struct growth_row *row, const struct steps *s)
{
	double all = (double)(s->geometric + s->constant + s->small);

	row->policy = GROWTH_MIXED;
	if ((double)s->geometric >= MAJORITY * all) {
		row->policy = GROWTH_GEOMETRIC;
		row->factor = exp(s->log_factor / (double)s->geometric);
	} else if ((double)s->constant >= MAJORITY * all) {
		row->policy = GROWTH_CONSTANT;
		row->step_bytes = s->last_constant;
	} else if ((double)(s->small + s->constant) >= MAJORITY * all) {
		row->policy = GROWTH_JUST_ENOUGH;
		row->step_bytes = s->small ? s->small_bytes / s->small : 0;
	}
}

ORDER_BY(by_waste, struct growth_row,
	 ORDER_VALUES(growth_waste(b), growth_waste(a)) ?: ORDER_DOWN(cumulative) ?:
	 ORDER_TEXT(name))

static void arrange(struct growth *out, struct growth_finder *f, const struct groups *groups,
		    const char *match, uint64_t least_steps)
{
	for (size_t i = 0; i < groups->count; i++) {
		struct growth_row *row = &f->rows[i];

		if (row->steps < least_steps || !row->steps ||
		    (match && !text_matches(match, groups->names[i])))
			continue;
		row->name = mem_text(groups->names[i]);
		judge(row, &f->steps[i]);
		out->rows[out->count++] = *row;
	}
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_waste);
}

struct shiny_err *growth_load(struct store *store, const struct filter *filter, const char *match,
			      uint64_t least_steps, bool progress, struct growth *out)
{
	struct groups groups = { 0 };
	struct growth_finder f = { .groups = &groups };
	struct replay_observer observer = { .context = &f,
					    .birth = growth_on_birth,
					    .death = growth_on_death };
	struct growth growth = { 0 };
	struct shiny_err *err = groups_load(store, GROUP_SITE, false, &groups);

	if (!err) {
		f.rows = mem_zero(groups.count, sizeof(*f.rows));
		f.steps = mem_zero(groups.count, sizeof(*f.steps));
		err = replay_run(store, filter, &observer, 1,
				 progress ? "following every buffer" : NULL);
	}
	if (!err) {
		/* the replay has ended all blocks by now */
		growth.rows = mem_zero(groups.count, sizeof(*growth.rows));
		arrange(&growth, &f, &groups, match, least_steps);
	}
	free(f.rows);
	free(f.steps);
	free(f.chains.at);
	hash_table_deinit(&f.index);
	free(f.latest);
	groups_deinit(&groups);
	if (err)
		return err;
	*out = growth;
	return NULL;
}

void growth_deinit(struct growth *g)
{
	rows_free(g->rows, g->count, name);
	*g = (struct growth){ 0 };
}
