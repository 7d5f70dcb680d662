/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_cube.c: see page_cube.h.
 *
 * A block's sample and its cells are mostly in no cache. So the replay only queues changes; another
 * thread counts them, many at a time, and prefetches for later ones: first the sample's place in
 * the index, then its key, then the cells. Cells computed before a fold are computed again.
 *
 * Most blocks end in the interval in which they began, and change nothing that is live at its end.
 * So a birth waits for the block's next change, and is queued with that. Until then births[] keeps
 * it, by the place of its life in the replay.
 */
#include "page_cube.h"

#include <stdlib.h>

#include "../analysis/replay/change_queue.h"
#include "../base/hash.h"
#include "live_events.h"

/* ---- the replay's thread ---- */

enum cube_change_kind {
	CUBE_BEGINS, /* queued alone, as the block's next change is not its end */
	CUBE_RESIZED,
	CUBE_TYPED,
	CUBE_ENDS,
	CUBE_REMAINS,
	CUBE_MANY_MAKERS
};
struct cube_change {
	uint64_t size, before; /* as in struct live_event */
	struct group_key key;
	uint32_t blocks;
	uint16_t maker;
	uint8_t kind;
	uint8_t born;        /* the interval of its birth's time */
	uint8_t begun, told; /* the intervals in which activity.h counts its birth and this change:
			      * late events where they stand, edges with what precedes them */
	uint8_t bin, end;    /* of an ended block: as in struct cube_cell */
	bool begins;         /* its birth is queued with this change */
};

/* The birth of a block, indexed by its life's place. */
struct cube_birth {
	uint16_t maker;
	uint8_t begun;
	bool waits;
};

/* The interval that was found last: most events are in it. */
struct cube_span {
	uint64_t from, length; /* ns; length 0: none */
	uint8_t interval;
};

struct cube_giver {
	struct page_cube *cube;
	struct change_queue *queue;
	struct cube_birth *births;
	size_t birth_room;
	struct replay_rows birth_rows; /* `births`, to prefetch */
	struct cube_span born, told;
	uint16_t last_maker;
	bool many_makers;
};

static uint8_t interval_of(const struct page_cube *cube, struct cube_span *span, uint64_t time)
{
	uint64_t last = cube->profile->duration ? cube->profile->duration - 1 : 0;

	time = time < last ? time : last;
	if (time - span->from >= span->length) {
		span->interval = (uint8_t)(time / cube->interval);
		span->from = span->interval * cube->interval;
		span->length = cube->interval;
	}
	return span->interval;
}

static void tell_many_makers(struct cube_giver *g)
{
	if (!g->many_makers)
		change_queue_give(g->queue, (struct cube_change){ .kind = CUBE_MANY_MAKERS });
	g->many_makers = true;
}

static uint16_t maker_of(struct cube_giver *g, const struct life *life)
{
	struct page_cube *cube = g->cube;
	const struct cube_maker key = { life->thread, life->tag };
	const struct cube_maker *last = &cube->makers.at[g->last_maker];
	uint64_t hash = hash_keys(key.thread, key.tag);
	uint32_t at;

	if (last->thread == key.thread && last->tag == key.tag)
		return g->last_maker;
	at = hash_table_find(&cube->maker_table, hash, i,
			     cube->makers.at[i].thread == key.thread &&
				     cube->makers.at[i].tag == key.tag);
	if (at == HASH_NONE) {
		if (cube->makers.count == CUBE_MAKERS) {
			tell_many_makers(g);
			return 0;
		}
		at = (uint32_t)cube->makers.count;
		*vec_push(&cube->makers) = key;
		hash_table_add(&cube->maker_table, hash, at);
	}
	g->last_maker = (uint16_t)at;
	return g->last_maker;
}

static struct cube_birth *birth_of(struct cube_giver *g, const struct life *life)
{
	if (life->place >= g->birth_room) {
		g->births = mem_reach(g->births, &g->birth_room, life->place, sizeof(*g->births),
				      1024);
		g->birth_rows = (struct replay_rows){ .at = g->births,
						      .count = g->birth_room,
						      .each = sizeof(*g->births) };
	}
	return &g->births[life->place];
}

static void give_birth_alone(struct cube_giver *g, struct cube_change change, uint64_t size,
			     uint32_t type)
{
	change.kind = CUBE_BEGINS;
	change.size = size;
	change.key.type = type;
	change_queue_give(g->queue, change);
}

static void give_event(void *context, const struct live_event *event)
{
	struct cube_giver *g = context;
	const struct life *life = event->life;
	struct cube_birth *birth = birth_of(g, life);
	uint64_t age = event->time > life->birth ? event->time - life->birth : 0;
	uint8_t told = interval_of(g->cube, &g->told, event->told ? event->told - 1 : 0);
	struct cube_change change = { .size = event->size,
				      .before = event->before,
				      .blocks = event->blocks,
				      .key = { event->process, life->stack, event->type },
				      .maker = birth->maker,
				      .kind = CUBE_ENDS,
				      .born = interval_of(g->cube, &g->born, life->birth),
				      .begun = birth->begun,
				      .told = told,
				      .bin = age ? (uint8_t)(63 - __builtin_clzll(age)) : 0,
				      .begins = birth->waits };

	switch (event->kind) {
	case LIVE_BEGINS:
		*birth = (struct cube_birth){ maker_of(g, life), told, true };
		return;
	case LIVE_RESIZED:
		change.kind = CUBE_RESIZED;
		if (birth->waits)
			give_birth_alone(g, change, event->before, event->type);
		break;
	case LIVE_TYPED:
		change.kind = CUBE_TYPED;
		if (birth->waits)
			give_birth_alone(g, change, event->size, (uint32_t)event->before);
		break;
	case LIVE_REMAINS:
		change.kind = CUBE_REMAINS;
		change.end = PAGE_LIVE;
		break;
	default:
		change.end = event->kind == LIVE_GONE ? PAGE_GONE : PAGE_FREED;
	}
	birth->waits = false;
	change_queue_give(g->queue, change);
}

/* ---- counting ---- */

/* Values of a change that are computed before it is counted. */
struct cube_ahead {
	uint64_t hash;   /* hash of its sample's key */
	uint32_t sample; /* index of its sample + 1 */
	unsigned folds;  /* the cube's `folds` when the cells were computed */
	uint64_t begun, told, life; /* places of its cells */
};

static void work_out(const struct page_cube *cube, const struct cube_change *c,
		     struct cube_ahead *ahead)
{
	uint32_t sample = cube->kept[ahead->sample];
	int maker = cube->makers_folded ? 0 : c->maker;

	ahead->begun = cube_place(sample, maker, c->begun);
	ahead->told = cube_place(sample, maker, c->told);
	ahead->life = cube_place_of_life(cube_place(sample, maker, c->born), c->bin, c->end);
	ahead->folds = cube->folds;
}

/* Counts a block under its new type since its birth, as all analyses do: in the interval of its
 * birth it moves from one row to the other. */
static void count_typed(struct page_cube *cube, const struct cube_change *c,
			const struct cube_ahead *ahead)
{
	struct group_key key = c->key;
	int maker = cube->makers_folded ? 0 : c->maker;
	int64_t blocks = c->blocks;
	uint32_t before;

	key.type = (uint32_t)c->before;
	before = groups_find_sample(&cube->profile->groups, &key);
	if (cube->finest[before] == cube->finest[ahead->sample])
		return;
	cube_cells_add(&cube->changes, cube_place(cube->kept[before], maker, c->born), -blocks,
		       -(int64_t)c->size);
	cube_cells_add(&cube->changes, cube_place(cube->kept[ahead->sample], maker, c->born),
		       blocks, (int64_t)c->size);
}

/* A block that began and ended in one interval still makes a cell of `changes`, with zeros. */
static void count_end(struct page_cube *cube, const struct cube_change *c,
		      const struct cube_ahead *ahead)
{
	int64_t size = (int64_t)c->size, blocks = c->blocks;
	bool ends = c->kind == CUBE_ENDS, both = ends && c->begins && c->begun == c->told;

	if (c->begins)
		cube_cells_add(&cube->changes, ahead->begun, both ? 0 : blocks, both ? 0 : size);
	if (ends && !both)
		cube_cells_add(&cube->changes, ahead->told, -blocks, -size);
	cube_cells_add(&cube->lives, ahead->life, blocks, size);
}

size_t page_cube_cells(const struct page_cube *cube)
{
	return cube->lives.count + cube->changes.count;
}

static void count_change(struct page_cube *cube, const struct cube_change *c,
			 struct cube_ahead *ahead)
{
	if (ahead->folds != cube->folds)
		work_out(cube, c, ahead);
	switch ((enum cube_change_kind)c->kind) {
	case CUBE_BEGINS:
		cube_cells_add(&cube->changes, ahead->begun, c->blocks, (int64_t)c->size);
		break;
	case CUBE_RESIZED:
		cube_cells_add(&cube->changes, ahead->told, 0, (int64_t)(c->size - c->before));
		break;
	case CUBE_TYPED:
		count_typed(cube, c, ahead);
		break;
	case CUBE_MANY_MAKERS:
		cube->many_makers = true;
		break;
	default:
		count_end(cube, c, ahead);
	}
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

static void expect_key(const struct page_cube *cube, const struct cube_ahead *ahead)
{
	const struct groups *groups = &cube->profile->groups;
	uint32_t at = hash_table_first(&groups->key_index, ahead->hash);

	if (at != HASH_NONE)
		__builtin_prefetch(&groups->keys[at]);
}

static void prepare(const struct page_cube *cube, const struct cube_change *c,
		    struct cube_ahead *ahead)
{
	ahead->sample = groups_find_hashed(&cube->profile->groups, &c->key, ahead->hash);
	work_out(cube, c, ahead);
	if (c->kind >= CUBE_ENDS)
		cube_cells_expect(&cube->lives, ahead->life);
	if (c->begins)
		cube_cells_expect(&cube->changes, ahead->begun);
	if (!c->begins || c->begun != c->told)
		cube_cells_expect(&cube->changes, ahead->told);
}

/* The distance, in changes, at which a change's index slot, its key, and its cells are
 * prefetched. */
enum { AHEAD = 24, AHEAD_KEY = 16, AHEAD_CELLS = 8, AHEAD_ROOM = 32 };

static void count_changes(void *context, const void *changes, size_t count)
{
	struct page_cube *cube = context;
	const struct cube_change *first = changes;
	struct cube_ahead ahead[AHEAD_ROOM];

	for (size_t i = 0, at; i < count + AHEAD; i++) { /* at > count: none */
		if (i < count)
			expect(cube, &first[i], &ahead[i % AHEAD_ROOM]);
		at = i - (AHEAD - AHEAD_KEY);
		if (at < count)
			expect_key(cube, &ahead[at % AHEAD_ROOM]);
		at = i - (AHEAD - AHEAD_CELLS);
		if (at < count)
			prepare(cube, &first[at], &ahead[at % AHEAD_ROOM]);
		at = i - AHEAD;
		if (at < count)
			count_change(cube, &first[at], &ahead[at % AHEAD_ROOM]);
	}
}

struct shiny_err *page_cube_load(struct store *store, const struct filter *filter, bool progress,
				 struct page_cube *cube)
{
	struct cube_giver giver = {
		.cube = cube,
		.queue = change_queue_create(sizeof(struct cube_change), count_changes, cube)
	};
	struct shiny_err *err;

	*vec_push(&cube->makers) = (struct cube_maker){ 0, 0 };
	err = live_events_each(store, filter, progress ? "adding up intervals" : NULL,
			       &giver.birth_rows, give_event, &giver);
	change_queue_settle(giver.queue);
	change_queue_destroy(giver.queue);
	free(giver.births);
	if (cube->makers_folded)
		cube->makers.count = 1;
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
