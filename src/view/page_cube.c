/* SPDX-License-Identifier: Apache-2.0 */
#include "page_cube.h"

#include <stdlib.h>

#include "../base/hash.h"
#include "../base/lower_bound.h"
#include "live_events.h"

/* A program works at few call sites at a time: what was found is found again. */
enum { FOUND = 1 << 14 };
struct cube_found {
	uint32_t process, stack, type; /* process 0: nothing */
	uint32_t sample;
};

/* Of a block of that type, its sample + 1; 0: none. */
static size_t search_sample(const struct profile *p, const struct live_event *event, uint32_t type)
{
	const uint32_t process = event->process, stack = event->life->stack;
	size_t at = lower_bound(
		p->sample_count, i,
		p->samples[i].process < process ||
			(p->samples[i].process == process &&
			 (p->samples[i].stack < stack ||
			  (p->samples[i].stack == stack && p->samples[i].type < type))));
	const struct profile_sample *found = at < p->sample_count ? &p->samples[at] : NULL;

	return found && found->process == process && found->stack == stack && found->type == type
		       ? at + 1
		       : 0;
}

static size_t find_sample(const struct page_cube *cube, const struct live_event *event,
			  uint32_t type)
{
	const uint32_t process = event->process, stack = event->life->stack;
	struct cube_found *f =
		&cube->found[hash_pair((uint64_t)process << 32 | stack, type) % FOUND];

	if (f->process != process || f->stack != stack || f->type != type)
		*f = (struct cube_found){ process, stack, type,
					  (uint32_t)search_sample(cube->profile, event, type) };
	return f->sample;
}

static void add_cell(struct cube_cells *cells, struct cube_cell key, int64_t blocks, int64_t bytes)
{
	uint64_t hash = hash_keys((uint64_t)key.maker << 32 | key.sample,
				  (uint64_t)key.interval << 16 | (uint64_t)key.bin << 8 | key.end);
	uint32_t at = hash_table_find(&cells->table, hash, i,
				      cells->rows.at[i].sample == key.sample &&
					      cells->rows.at[i].maker == key.maker &&
				      cells->rows.at[i].interval == key.interval &&
					      cells->rows.at[i].bin == key.bin &&
					      cells->rows.at[i].end == key.end);

	if (at == HASH_NONE) {
		at = (uint32_t)cells->rows.count;
		*vec_push(&cells->rows) = key;
		hash_table_add(&cells->table, hash, at);
	}
	cells->rows.at[at].blocks += blocks;
	cells->rows.at[at].bytes += bytes;
}

static uint16_t maker_of(struct page_cube *cube, const struct life *life)
{
	const struct cube_maker key = { life->thread, life->tag };
	const struct cube_maker *last = &cube->makers.at[cube->last_maker];
	uint64_t hash = hash_keys(key.thread, key.tag);
	uint32_t at;

	if (cube->makers_folded)
		return 0;
	if (last->thread == key.thread && last->tag == key.tag)
		return cube->last_maker;
	at = hash_table_find(&cube->maker_table, hash, i,
			     cube->makers.at[i].thread == key.thread &&
				     cube->makers.at[i].tag == key.tag);
	if (at == HASH_NONE) {
		if (cube->makers.count == CUBE_MAKERS) {
			cube->many_makers = true;
			return 0;
		}
		at = (uint32_t)cube->makers.count;
		*vec_push(&cube->makers) = key;
		hash_table_add(&cube->maker_table, hash, at);
	}
	cube->last_maker = (uint16_t)at;
	return cube->last_maker;
}

static uint16_t interval_of(const struct page_cube *cube, uint64_t time)
{
	uint64_t last = (cube->profile->duration ? cube->profile->duration - 1 : 0) /
			cube->interval;
	uint64_t at = time / cube->interval;

	return (uint16_t)(at < last ? at : last);
}

/* The interval in which activity.h counts it: late events where they stand, edges with what is in
 * front of them. */
static uint16_t interval_told(const struct page_cube *cube, const struct live_event *event)
{
	return interval_of(cube, event->told ? event->told - 1 : 0);
}

/* Counted as of its new type since its birth, as everywhere else: in the interval of its birth it
 * goes from one row to the other. */
static void count_typed(struct page_cube *cube, const struct live_event *event, uint16_t maker)
{
	size_t before = find_sample(cube, event, (uint32_t)event->before),
	       now = find_sample(cube, event, event->type);
	struct cube_cell from = { .sample = cube->kept[before],
				  .maker = maker,
				  .interval = interval_of(cube, event->life->birth) };
	struct cube_cell to = from;

	to.sample = cube->kept[now];
	if (cube->finest[before] == cube->finest[now])
		return;
	add_cell(&cube->changes, from, -1, -(int64_t)event->size);
	add_cell(&cube->changes, to, 1, (int64_t)event->size);
}

static void count_cells(struct page_cube *cube, const struct live_event *event)
{
	uint32_t sample = cube->kept[find_sample(cube, event, event->type)];
	uint64_t birth = event->life->birth;
	uint64_t age = event->time > birth ? event->time - birth : 0;
	uint16_t maker = maker_of(cube, event->life);
	struct cube_cell change = { .sample = sample,
				    .maker = maker,
				    .interval = interval_told(cube, event) };
	struct cube_cell life = { .sample = sample,
				  .maker = maker,
				  .interval = interval_of(cube, birth),
				  .bin = (uint8_t)(age ? 63 - __builtin_clzll(age) : 0) };

	switch (event->kind) {
	case LIVE_BEGINS:
		add_cell(&cube->changes, change, 1, (int64_t)event->size);
		return;
	case LIVE_RESIZED:
		add_cell(&cube->changes, change, 0, (int64_t)(event->size - event->before));
		return;
	case LIVE_TYPED:
		count_typed(cube, event, maker);
		return;
	case LIVE_REMAINS:
		life.end = PAGE_LIVE;
		break;
	default:
		life.end = event->kind == LIVE_GONE ? PAGE_GONE : PAGE_FREED;
		add_cell(&cube->changes, change, -1, -(int64_t)event->size);
	}
	add_cell(&cube->lives, life, 1, (int64_t)event->size);
}

size_t page_cube_cells(const struct page_cube *cube)
{
	return cube->lives.rows.count + cube->changes.rows.count;
}

static void count_event(void *context, const struct live_event *event)
{
	struct page_cube *cube = context;

	count_cells(cube, event);
	if (cube->fold && (page_cube_cells(cube) > cube->most ||
			   (cube->many_makers && !cube->makers_folded)))
		cube->fold(cube->context);
}

struct shiny_err *page_cube_load(struct store *store, const struct filter *filter, bool progress,
				 struct page_cube *cube)
{
	struct shiny_err *err;

	*vec_push(&cube->makers) = (struct cube_maker){ 0, 0 };
	cube->found = mem_zero(FOUND, sizeof(*cube->found));
	err = live_events_each(store, filter, progress ? "adding up intervals" : NULL, count_event,
			       cube);
	free(cube->found);
	cube->found = NULL;
	return err;
}

/* into NULL: the samples stay, and all cells are of maker 0. */
static void fold_cells(struct cube_cells *cells, const uint32_t *into)
{
	struct cube_cells folded = { 0 };

	for (size_t i = 0; i < cells->rows.count; i++) {
		struct cube_cell key = cells->rows.at[i];
		int64_t blocks = key.blocks, bytes = key.bytes;

		if (into)
			key.sample = into[key.sample];
		else
			key.maker = 0;
		key.blocks = key.bytes = 0;
		add_cell(&folded, key, blocks, bytes);
	}
	hash_table_deinit(&cells->table);
	free(cells->rows.at);
	*cells = folded;
}

void page_cube_fold(struct page_cube *cube, const uint32_t *into)
{
	fold_cells(&cube->lives, into);
	fold_cells(&cube->changes, into);
}

void page_cube_fold_makers(struct page_cube *cube)
{
	fold_cells(&cube->lives, NULL);
	fold_cells(&cube->changes, NULL);
	cube->makers.count = 1;
	cube->makers_folded = true;
}

static int by_place(const void *left, const void *right)
{
	const struct cube_cell *a = left, *b = right;

	if (a->sample != b->sample)
		return a->sample < b->sample ? -1 : 1;
	if (a->maker != b->maker)
		return a->maker < b->maker ? -1 : 1;
	if (a->interval != b->interval)
		return a->interval < b->interval ? -1 : 1;
	return a->bin != b->bin ? a->bin - b->bin : a->end - b->end;
}

static void sort_cells(struct cube_cells *cells)
{
	hash_table_deinit(&cells->table);
	cells->table = (struct hash_table){ 0 };
	if (cells->rows.count)
		qsort(cells->rows.at, cells->rows.count, sizeof(*cells->rows.at), by_place);
}

void page_cube_sort(struct page_cube *cube)
{
	sort_cells(&cube->lives);
	sort_cells(&cube->changes);
}

void page_cube_deinit(struct page_cube *cube)
{
	hash_table_deinit(&cube->lives.table);
	hash_table_deinit(&cube->changes.table);
	hash_table_deinit(&cube->maker_table);
	free(cube->makers.at);
	free(cube->lives.rows.at);
	free(cube->changes.rows.at);
}
