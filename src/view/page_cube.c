/* SPDX-License-Identifier: Apache-2.0 */
#include "page_cube.h"

#include <stdlib.h>

#include "../base/hash.h"
#include "../base/lower_bound.h"
#include "live_events.h"

/* An event's sample + 1; 0: none. */
static size_t find_sample(const struct profile *p, const struct live_event *event)
{
	const uint32_t process = event->process, stack = event->life->stack, type = event->type;
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

static void add_cell(struct cube_cells *cells, struct cube_cell key, int64_t blocks, int64_t bytes)
{
	uint64_t hash = hash_keys(key.sample,
				  (uint64_t)key.interval << 16 | (uint64_t)key.bin << 8 | key.end);
	uint32_t at = hash_table_find(&cells->table, hash, i,
				      cells->rows.at[i].sample == key.sample &&
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

static void count_event(void *context, const struct live_event *event)
{
	struct page_cube *cube = context;
	uint32_t sample = cube->kept[find_sample(cube->profile, event)];
	uint64_t birth = event->life->birth;
	uint64_t age = event->time > birth ? event->time - birth : 0;
	struct cube_cell change = { .sample = sample, .interval = interval_told(cube, event) };
	struct cube_cell life = { .sample = sample,
				  .interval = interval_of(cube, birth),
				  .bin = (uint8_t)(age ? 63 - __builtin_clzll(age) : 0) };

	switch (event->kind) {
	case LIVE_BEGINS:
		add_cell(&cube->changes, change, 1, (int64_t)event->size);
		return;
	case LIVE_RESIZED:
		add_cell(&cube->changes, change, 0, (int64_t)(event->size - event->before));
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

struct shiny_err *page_cube_load(struct store *store, const struct filter *filter, bool progress,
				 struct page_cube *cube)
{
	return live_events_each(store, filter, progress ? "adding up intervals" : NULL, count_event,
				cube);
}

void page_cube_deinit(struct page_cube *cube)
{
	hash_table_deinit(&cube->lives.table);
	hash_table_deinit(&cube->changes.table);
	free(cube->lives.rows.at);
	free(cube->changes.rows.at);
}
