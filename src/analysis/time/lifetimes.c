/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lifetimes.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../store/contents.h"

#define SHORT_SHARE  0.01
#define MIDDLE_SHARE 0.5

const char *const population_names[POPULATIONS] = {
	[POPULATION_SHORT] = "short",
	[POPULATION_MIDDLE] = "middle",
	[POPULATION_TAIL] = "tail",
};

enum population population_of(uint64_t age, uint64_t duration)
{
	return age <= (uint64_t)((double)duration * SHORT_SHARE)    ? POPULATION_SHORT
	       : age <= (uint64_t)((double)duration * MIDDLE_SHARE) ? POPULATION_MIDDLE
								    : POPULATION_TAIL;
}

/* A block that has ended, with the values to count. */
struct lifetimes_ended {
	struct lifetime_row *row;
	uint64_t age, size, blocks;
	enum life_end end;
	bool elsewhere, temporary;
};

/* Rows and their bins are mostly in no cache. So ended blocks wait in a line: their row is
 * prefetched when they enter it, its bin when they are halfway through. */
enum { LINE = 16 };

struct lifetimes_count {
	const struct groups *groups;
	const bool *only;	   /* by group, those to count; NULL: all */
	struct lifetime_row *rows; /* one for each group */
	uint64_t duration;
	struct lifetimes_ended line[LINE]; /* a ring; row NULL: empty */
	unsigned next;
};

static void count_ended(struct lifetimes_count *c, const struct lifetimes_ended *e)
{
	struct lifetime_row *row = e->row;
	enum population population = population_of(e->age, c->duration);

	estimated_add(&row->began, e->size, e->blocks);
	switch (e->end) {
	case LIFE_FREED:
	case LIFE_REALLOCED:
		row->destroyed += e->blocks;
		row->elsewhere += e->elsewhere * e->blocks;
		row->temporary += e->temporary;
		break;
	case LIFE_REUSED:
	case LIFE_RELEASED:
		row->reused += e->blocks;
		break;
	default:
		row->persistent += e->blocks;
		break;
	}
	distribution_add(&row->ages, e->age, e->blocks, e->end == LIFE_NEVER);
	row->population[population] += e->blocks;
	row->population_bytes[population] += e->size * e->blocks;
}

static void count_death(void *context, const struct replay_process *process,
			const struct life *life, const struct life_death *death)
{
	struct lifetimes_count *c = context;
	struct lifetimes_ended *place = &c->line[c->next % LINE],
			       *halfway = &c->line[(c->next + LINE / 2) % LINE];
	uint32_t group = groups_find(c->groups, process, life);

	if (life->inherited || (c->only && !c->only[group]))
		return;
	if (place->row)
		count_ended(c, place);
	if (halfway->row)
		distribution_expect(&halfway->row->ages, halfway->age);
	/* the birth of a realloc's new block comes before the death of its old one, and does not
	 * count */
	*place = (struct lifetimes_ended){
		.row = &c->rows[group],
		.age = death->time > life->birth ? death->time - life->birth : 0,
		.size = life->size,
		.blocks = replay_weight(process, life),
		.end = death->end,
		.elsewhere = death->thread != life->thread,
		/* a sample does not have what came next */
		.temporary = !process->sample && process->births ==
				     life->number + (death->end == LIFE_REALLOCED)
	};
	for (const char *at = (const char *)place->row; at < (const char *)(place->row + 1);
	     at += 64)
		__builtin_prefetch(at, 1);
	c->next++;
}

/* Adds the bytes that an object gives back in place, as they were requested, too; its end adds its
 * last size. */
static void count_resize(void *context, const struct replay_process *process,
			 const struct life *life, uint64_t before)
{
	struct lifetimes_count *c = context;
	uint32_t group = groups_find(c->groups, process, life);

	if (!life->inherited && before > life->size && !(c->only && !c->only[group]))
		c->rows[group].began.bytes += before - life->size;
}

static void count_rest(struct lifetimes_count *c)
{
	for (unsigned i = 0; i < LINE; i++)
		if (c->line[(c->next + i) % LINE].row)
			count_ended(c, &c->line[(c->next + i) % LINE]);
}

static void add_row(struct lifetime_row *to, const struct lifetime_row *row)
{
	estimated_merge(&to->began, &row->began);
	to->destroyed += row->destroyed;
	to->reused += row->reused;
	to->persistent += row->persistent;
	to->temporary += row->temporary;
	to->elsewhere += row->elsewhere;
	for (unsigned i = 0; i < POPULATIONS; i++) {
		to->population[i] += row->population[i];
		to->population_bytes[i] += row->population_bytes[i];
	}
	distribution_merge(&to->ages, &row->ages);
}

static uint64_t value_of(const struct lifetime_row *row, enum lifetimes_order order)
{
	switch (order) {
	case LIFETIMES_BY_BYTES:
		return row->began.bytes;
	case LIFETIMES_BY_PERSISTENT:
		return row->persistent;
	case LIFETIMES_BY_SHORT:
		return row->population[POPULATION_SHORT];
	default:
		return row->began.blocks;
	}
}

static int compare(const void *left, const void *right, void *context)
{
	const struct lifetime_row *a = left, *b = right;
	enum lifetimes_order order = *(enum lifetimes_order *)context;
	uint64_t x = value_of(a, order), y = value_of(b, order);

	if (order != LIFETIMES_BY_NAME && x != y)
		return x < y ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void row_deinit(struct lifetime_row *row)
{
	free(row->name);
	free(row->full_name);
	distribution_deinit(&row->ages);
}

/* Keeps the rows that have blocks and match, with names, sorted. */
static void arrange(struct lifetimes *out, struct groups *groups, const char *match,
		    enum lifetimes_order order)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->count; i++) {
		struct lifetime_row *row = &out->rows[i];

		if (!row->began.blocks || (match && !text_matches(match, groups->names[i]))) {
			row_deinit(row);
			continue;
		}
		row->name = mem_text(groups->names[i]);
		if (groups->full_names && groups->full_names[i])
			row->full_name = mem_text(groups->full_names[i]);
		add_row(&out->total, row);
		out->rows[kept++] = *row;
	}
	out->count = kept;
	if (kept)
		qsort_r(out->rows, kept, sizeof(*out->rows), compare, &order);
}

/* The arguments of a load. */
struct lifetimes_ask {
	enum group_by by;
	const bool *only; /* by group, those to count; NULL: all */
	const char *match;
	enum lifetimes_order order;
	bool full_names, progress;
};

static struct shiny_err *load(struct store *store, const struct filter *filter,
			      const struct lifetimes_ask *ask, struct lifetimes *out)
{
	struct groups groups = { 0 };
	struct lifetimes_count counting = { .groups = &groups, .only = ask->only };
	struct replay_observer observer = { .context = &counting,
					    .death = count_death,
					    .resize = count_resize };
	SHINY_CLEANUP(lifetimes_deinit) struct lifetimes lifetimes = { 0 };
	struct filter kept = *filter; /* of older blocks only those that lived long are known */
	uint64_t from = 0, end;
	struct shiny_err *err = session_duration(store, &lifetimes.duration);

	counting.duration = lifetimes.duration;
	if (!err)
		err = contents_kept(store, &from, &end);
	if (!err && from > kept.from)
		kept.from = from;
	lifetimes.length = filter_length(&kept, lifetimes.duration);
	if (!err)
		err = groups_load(store, ask->by, ask->full_names, &groups);
	if (!err) {
		lifetimes.count = groups.count;
		lifetimes.rows = counting.rows = mem_zero(groups.count, sizeof(*lifetimes.rows));
		err = replay_run(store, &kept, &observer, 1,
				 ask->progress ? "following every block" : NULL);
	}
	if (!err) {
		count_rest(&counting);
		arrange(&lifetimes, &groups, ask->match, ask->order);
		distribution_octaves(&lifetimes.total.ages, &lifetimes.octaves);
	}
	groups_deinit(&groups);
	if (err)
		return err;
	*out = shiny_steal(lifetimes);
	return NULL;
}

struct shiny_err *lifetimes_load(struct store *store, const struct filter *filter, enum group_by by,
				 const char *match, enum lifetimes_order order, bool full_names,
				 bool progress, struct lifetimes *out)
{
	return load(store, filter,
		    &(struct lifetimes_ask){ .by = by,
					     .match = match,
					     .order = order,
					     .full_names = full_names,
					     .progress = progress },
		    out);
}

struct shiny_err *lifetimes_load_sites(struct store *store, const struct filter *filter,
				       const bool *sites, enum lifetimes_order order,
				       bool full_names, bool progress, struct lifetimes *out)
{
	return load(store, filter,
		    &(struct lifetimes_ask){ .by = GROUP_SITE,
					     .only = sites,
					     .order = order,
					     .full_names = full_names,
					     .progress = progress },
		    out);
}

void lifetimes_deinit(struct lifetimes *l)
{
	for (size_t i = 0; i < l->count; i++)
		row_deinit(&l->rows[i]);
	free(l->rows);
	row_deinit(&l->total);
	*l = (struct lifetimes){ 0 };
}
