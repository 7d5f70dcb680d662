/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_cube.c: see page_cube.h.
 *
 * Which sample a block is of, and its two cells, are in no cache as a rule. So the replay only says
 * what begins and ends; another thread counts that, many at a time, and asks for what later ones
 * need: first for where the sample is found, then for the cells. Cells that were worked out in
 * front of a fold are worked out again.
 */
#include "page_cube.h"

#include <stdlib.h>

#include "../analysis/replay/change_queue.h"
#include "../base/hash.h"
#include "live_events.h"

/* ---- where it belongs ---- */

struct cube_change {
	uint64_t size, before, birth, time, told; /* as in struct live_event */
	struct group_key key;
	struct cube_maker maker;
	uint8_t kind; /* enum live_kind */
};

/* What of a change is worked out in front of its turn. */
struct cube_ahead {
	uint64_t hash;   /* of its sample */
	uint32_t sample; /* + 1 */
	unsigned folds;  /* of the cube, when the cells were worked out */
	bool known;      /* they were */
	struct cube_cell change, life;
};

/* The maker's number; HASH_NONE: it has none yet. */
static uint32_t find_maker(struct page_cube *cube, struct cube_maker key)
{
	const struct cube_maker *last = &cube->makers.at[cube->last_maker];
	uint32_t at;

	if (cube->makers_folded)
		return 0;
	if (last->thread == key.thread && last->tag == key.tag)
		return cube->last_maker;
	at = hash_table_find(&cube->maker_table, hash_keys(key.thread, key.tag), i,
			     cube->makers.at[i].thread == key.thread &&
				     cube->makers.at[i].tag == key.tag);
	if (at != HASH_NONE)
		cube->last_maker = (uint16_t)at;
	return at;
}

static uint32_t maker_of(struct page_cube *cube, struct cube_maker key)
{
	uint32_t at = find_maker(cube, key);

	if (at != HASH_NONE)
		return at;
	if (cube->makers.count == CUBE_MAKERS) {
		cube->many_makers = true;
		return 0;
	}
	at = (uint32_t)cube->makers.count;
	*vec_push(&cube->makers) = key;
	hash_table_add(&cube->maker_table, hash_keys(key.thread, key.tag), at);
	cube->last_maker = (uint16_t)at;
	return at;
}

static uint8_t interval_of(const struct page_cube *cube, uint64_t time)
{
	uint64_t last = cube->profile->duration ? cube->profile->duration - 1 : 0;

	return (uint8_t)((time < last ? time : last) / cube->interval);
}

/* Works out the cells of a change; of LIVE_TYPED only what stays as it is. */
static void work_out(const struct page_cube *cube, const struct cube_change *c, uint32_t maker,
		     struct cube_ahead *ahead)
{
	uint64_t age = c->time > c->birth ? c->time - c->birth : 0;
	uint32_t sample = cube->kept[ahead->sample];

	/* the interval in which activity.h counts it: late events where they stand, edges with what
	 * is in front of them */
	ahead->change = (struct cube_cell){ .sample = sample,
					    .maker = maker,
					    .interval = interval_of(
						    cube, c->told ? c->told - 1 : 0) };
	ahead->life = (struct cube_cell){ .sample = sample,
					  .maker = maker,
					  .interval = interval_of(cube, c->birth),
					  .bin = age ? 63 - (unsigned)__builtin_clzll(age) : 0,
					  .end = c->kind == LIVE_REMAINS ? PAGE_LIVE
						 : c->kind == LIVE_GONE	 ? PAGE_GONE
									 : PAGE_FREED };
	ahead->folds = cube->folds;
	ahead->known = true;
}

/* ---- counting ---- */

/* Counted as of its new type since its birth, as everywhere else: in the interval of its birth it
 * goes from one row to the other. */
static void count_typed(struct page_cube *cube, const struct cube_change *c,
			const struct cube_ahead *ahead)
{
	struct group_key key = c->key;
	struct cube_cell from = ahead->life, to = ahead->life;
	uint32_t before;

	key.type = (uint32_t)c->before;
	before = groups_find_sample(&cube->profile->groups, &key);
	from.sample = cube->kept[before];
	from.bin = to.bin = 0;
	if (cube->finest[before] == cube->finest[ahead->sample])
		return;
	cube_cells_add(&cube->changes, from, -1, -(int64_t)c->size);
	cube_cells_add(&cube->changes, to, 1, (int64_t)c->size);
}

static void count_cells(struct page_cube *cube, const struct cube_change *c,
			struct cube_ahead *ahead)
{
	if (!ahead->known || ahead->folds != cube->folds)
		work_out(cube, c, maker_of(cube, c->maker), ahead);
	switch ((enum live_kind)c->kind) {
	case LIVE_BEGINS:
		cube_cells_add(&cube->changes, ahead->change, 1, (int64_t)c->size);
		return;
	case LIVE_RESIZED:
		cube_cells_add(&cube->changes, ahead->change, 0, (int64_t)(c->size - c->before));
		return;
	case LIVE_TYPED:
		count_typed(cube, c, ahead);
		return;
	case LIVE_REMAINS:
		break;
	default:
		cube_cells_add(&cube->changes, ahead->change, -1, -(int64_t)c->size);
	}
	cube_cells_add(&cube->lives, ahead->life, 1, (int64_t)c->size);
}

size_t page_cube_cells(const struct page_cube *cube)
{
	return cube->lives.count + cube->changes.count;
}

static void count_change(struct page_cube *cube, const struct cube_change *c,
			 struct cube_ahead *ahead)
{
	count_cells(cube, c, ahead);
	if (cube->fold && (page_cube_cells(cube) > cube->most ||
			   (cube->many_makers && !cube->makers_folded)))
		cube->fold(cube->context);
}

/* ---- in front of its turn ---- */

static void expect(const struct page_cube *cube, const struct cube_change *c,
		   struct cube_ahead *ahead)
{
	ahead->hash = group_key_hash(&c->key);
	hash_table_expect(&cube->profile->groups.key_index, ahead->hash);
}

/* A maker that has no number yet gets it when it is its turn. */
static void prepare(struct page_cube *cube, const struct cube_change *c, struct cube_ahead *ahead)
{
	uint32_t maker = find_maker(cube, c->maker);

	ahead->sample = groups_find_hashed(&cube->profile->groups, &c->key, ahead->hash);
	ahead->known = false;
	if (maker == HASH_NONE)
		return;
	work_out(cube, c, maker, ahead);
	cube_cells_expect(&cube->changes, ahead->change);
	if (c->kind != LIVE_BEGINS)
		cube_cells_expect(&cube->lives, ahead->life);
}

enum { AHEAD = 16 }; /* half of these, for the cells */

static void count_changes(void *context, const void *changes, size_t count)
{
	struct page_cube *cube = context;
	const struct cube_change *first = changes;
	struct cube_ahead ahead[AHEAD * 2];

	for (size_t i = 0; i < count + AHEAD; i++) {
		size_t soon = i - AHEAD / 2, now = i - AHEAD; /* past the end: not yet */

		if (i < count)
			expect(cube, &first[i], &ahead[i % (AHEAD * 2)]);
		if (i >= AHEAD / 2 && soon < count)
			prepare(cube, &first[soon], &ahead[soon % (AHEAD * 2)]);
		if (i >= AHEAD)
			count_change(cube, &first[now], &ahead[now % (AHEAD * 2)]);
	}
}

static void give_event(void *context, const struct live_event *event)
{
	struct page_cube *cube = context;
	const struct life *life = event->life;
	const struct cube_change change = { .size = event->size,
					    .before = event->before,
					    .birth = life->birth,
					    .time = event->time,
					    .told = event->told,
					    .key = { event->process, life->stack, event->type },
					    .maker = { life->thread, life->tag },
					    .kind = (uint8_t)event->kind };

	change_queue_give(cube->queue, &change);
}

struct shiny_err *page_cube_load(struct store *store, const struct filter *filter, bool progress,
				 struct page_cube *cube)
{
	struct shiny_err *err;

	*vec_push(&cube->makers) = (struct cube_maker){ 0, 0 };
	cube->queue = change_queue_create(sizeof(struct cube_change), count_changes, cube);
	err = live_events_each(store, filter, progress ? "adding up intervals" : NULL, give_event,
			       cube);
	change_queue_settle(cube->queue);
	change_queue_destroy(cube->queue);
	cube->queue = NULL;
	return err;
}

/* ---- folding ---- */

void page_cube_fold(struct page_cube *cube, const uint32_t *into)
{
	cube_cells_fold(&cube->lives, into);
	cube_cells_fold(&cube->changes, into);
	cube->folds++;
}

void page_cube_fold_makers(struct page_cube *cube)
{
	cube_cells_fold_makers(&cube->lives);
	cube_cells_fold_makers(&cube->changes);
	cube->makers.count = 1;
	cube->makers_folded = true;
	cube->folds++;
}

void page_cube_sort(struct page_cube *cube)
{
	cube_cells_sort(&cube->lives);
	cube_cells_sort(&cube->changes);
}

void page_cube_deinit(struct page_cube *cube)
{
	hash_table_deinit(&cube->maker_table);
	free(cube->makers.at);
	cube_cells_deinit(&cube->lives);
	cube_cells_deinit(&cube->changes);
}
