/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooling.c: see pooling.h.
 *
 * The first pass learns how long each call site's blocks live, and when most bytes were live. The
 * second one is told of every birth and death again, and gives each block a slot in two pools: that
 * of its size and lifetime, and that of its type. Where a block lies in its pools, with the block's
 * own address, is all that is needed to say at a moment which pages are held, without pools and
 * with.
 */
#define _GNU_SOURCE
#include "pooling.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/hash_table.h"
#include "../../base/mem.h"
#include "../../base/text.h"
#include "page_refs.h"
#include "place_map.h"
#include "pool.h"
#include "../replay/process_ends.h"
#include "used_pages.h"

enum { GROUPS = PAGES_BUCKETS * POPULATIONS };

/* ---- state ---- */

struct pool_counts {
	uint64_t blocks, bytes, ended, freed; /* freed: of the ended, by a call of free */
	uint64_t slow_begun, slow_ended;
	uint64_t objects, destroyed;
};
struct pooled { /* a cache line: every event comes to two of them */
	struct pool pool;
	uint32_t process, of;       /* `of`: a group; GROUPS + type group */
	uint64_t slot;              /* bytes */
	uint32_t blocks, destroyed; /* that were in it; objects among them that ended */
};
/* Which pools blocks of one call stack, slot and bucket begin in, as long as they have no vptr:
 * what most ask again. */
struct recent {
	uint32_t process, stack;
	uint64_t slot;
	uint32_t bucket, pools[PLACE_POOLS];
};
enum { RECENT = 32768 };

/* Pages at a moment; [0] without pools, [1] with. */
struct pool_held {
	struct page_refs groups[2], types[2]; /* on which blocks begin or end; who: [0] a group, or
	                                       * GROUPS + type group; [1] a pool */
	uint64_t (*of)[2];                    /* by group, and GROUPS + type group */
	uint64_t buckets[PAGES_BUCKETS][2], total[2];
};

struct pooling_model {
	struct groups types, sites;
	struct size_classes allocators;
	const struct pooling_constants *constants;
	bool *no_object, *is_object; /* by type id: known to be none; known to be one */
	size_t type_ids;
	uint32_t (*site_lives)[POPULATIONS]; /* first pass */
	struct { uint64_t bytes; bool ended; } *processes; /* first pass, by process id */
	struct process_ends ends;                          /* likewise */
	uint64_t live, most, peak_time, duration, collected;

	struct pooled *pools;
	size_t pool_count, pool_room;
	struct pool_counts *counts;   /* by group, and GROUPS + type group */
	struct hash_table pool_index; /* of pools */
	struct place_map places;
	struct recent recent[RECENT];
	struct used_pages *used; /* by process id; by group */
	size_t process_count;
	struct pool_held peak, end;
};

static bool is_pooled(const struct life *life)
{
	return !life->inherited && life->api != SHINY_API_COLLECTED;
}

/* ---- first pass ---- */

static void learn_live(struct pooling_model *m, const struct replay_process *process, int64_t bytes,
		       uint64_t time)
{
	if (m->processes[process->id].ended)
		return;
	m->processes[process->id].bytes += (uint64_t)bytes;
	m->live += (uint64_t)bytes;
	if (m->live > m->most) {
		m->most = m->live;
		m->peak_time = time;
	}
}

static void learn_birth(void *context, const struct replay *replay,
			const struct replay_process *process, const struct life *life)
{
	if (is_pooled(life))
		learn_live(context, process, (int64_t)life->size, life->birth);
}

static void learn_death(void *context, const struct replay *replay,
			const struct replay_process *process, const struct life *life,
			const struct life_death *death)
{
	struct pooling_model *m = context;
	uint64_t age = death->time > life->birth ? death->time - life->birth : 0;

	if (!is_pooled(life)) {
		m->collected += !life->inherited;
		return;
	}
	m->site_lives[groups_find(&m->sites, replay, process, life)]
		     [population_of(age, m->duration)]++;
	if (death->end != LIFE_NEVER)
		learn_live(m, process, -(int64_t)life->size, death->time);
}

/* A process's blocks end with it; replay makes no death of that. */
static uint64_t learn_ends(void *context, const struct replay *replay, uint64_t moment)
{
	struct pooling_model *m = context;
	const struct replay_process *p;

	if (!m->ends.order)
		process_ends_init(&m->ends, replay);
	while ((p = process_ends_take(&m->ends, replay, moment))) {
		m->live -= m->processes[p->id].bytes;
		m->processes[p->id].ended = true;
	}
	return process_ends_time(&m->ends, replay);
}

static enum population lifetime_of_site(const struct pooling_model *m, uint32_t site)
{
	const uint32_t *replay = m->site_lives[site];
	enum population most = POPULATION_SHORT;

	for (unsigned p = 1; p < POPULATIONS; p++)
		if (replay[p] > replay[most])
			most = (enum population)p;
	return most;
}

/* ---- pools ---- */

static uint32_t find_pool(struct pooling_model *m, uint32_t process, uint32_t of, uint64_t slot)
{
	uint64_t hash = hash_keys((uint64_t)process << 32 | of, slot);
	uint32_t at = hash_table_find(&m->pool_index, hash, i,
				      m->pools[i].process == process && m->pools[i].of == of &&
					      m->pools[i].slot == slot);

	if (at == HASH_NONE) {
		at = (uint32_t)m->pool_count++;
		m->pools = mem_reach(m->pools, &m->pool_room, at, sizeof(*m->pools), 1024);
		m->pools[at] = (struct pooled){ .process = process, .of = of, .slot = slot };
		hash_table_add(&m->pool_index, hash, at);
	}
	return at;
}

static uint32_t bucket_of(uint64_t size)
{
	uint32_t bucket = 0;

	while (size > pages_bucket_up_to[bucket])
		bucket++;
	return bucket;
}

/* Where a block begins: its two pools, and whether it has a mapping of its own. */
static bool choose_pools(struct pooling_model *m, const struct replay *replay,
			 const struct replay_process *process, const struct life *life,
			 uint32_t pools[PLACE_POOLS])
{
	enum size_allocator allocator = size_allocator_of(&m->allocators, process->id, life->api);
	struct size_room room = size_room(allocator, life->size, life->address);
	uint64_t slot = size_bin(allocator, room.slot);
	uint32_t bucket = bucket_of(life->size);
	struct recent *recent =
		&m->recent[hash_pair((uint64_t)process->id << 32 | life->stack, slot) % RECENT];

	if (!life->vtable && recent->process == process->id && recent->stack == life->stack &&
	    recent->slot == slot && recent->bucket == bucket) {
		memcpy(pools, recent->pools, sizeof(recent->pools));
		return room.mapped;
	}
	pools[0] =
		find_pool(m, process->id,
			  bucket * POPULATIONS + lifetime_of_site(m, groups_find(&m->sites, replay,
										 process, life)),
			  slot);
	pools[1] = find_pool(m, process->id, GROUPS + groups_find(&m->types, replay, process, life),
			     slot);
	if (!life->vtable)
		*recent = (struct recent){
			process->id, life->stack, slot, bucket, { pools[0], pools[1] }
		};
	return room.mapped;
}

/* ---- second pass ---- */

static void model_birth(void *context, const struct replay *replay,
			const struct replay_process *process, const struct life *life)
{
	struct pooling_model *m = context;
	uint32_t pools[PLACE_POOLS];
	struct pool_place place = { .address = life->address, .process = process->id };

	if (!is_pooled(life))
		return;
	place.slow = choose_pools(m, replay, process, life, pools);
	for (unsigned i = 0; i < PLACE_POOLS; i++) {
		struct pooled *p = &m->pools[pools[i]];
		struct pool_counts *counts = &m->counts[p->of];

		place.in[i].pool = pools[i];
		place.in[i].slot = pool_take(&p->pool);
		p->blocks++;
		counts->blocks++;
		counts->bytes += life->size;
		counts->slow_begun += place.slow;
	}
	used_pages_mark(&m->used[process->id], life->address, life->size, m->pools[pools[0]].of);
	place_map_add(&m->places, &place);
}

/* Its type is known now, or a better one: it was in that type's pool all the time. */
static void model_vtable(void *context, const struct replay *replay,
			 const struct replay_process *process, const struct life *life,
			 uint32_t before)
{
	struct pooling_model *m = context;
	struct pool_place *place;
	struct pooled *from, *to;
	uint32_t of, pool;

	if (!is_pooled(life) || !(place = place_map_find(&m->places, process->id, life->address)))
		return;
	of = GROUPS + groups_find(&m->types, replay, process, life);
	if (m->pools[place->in[1].pool].of == of)
		return;
	pool = find_pool(m, process->id, of, m->pools[place->in[1].pool].slot);
	from = &m->pools[place->in[1].pool];
	to = &m->pools[pool];
	from->blocks--;
	m->counts[from->of].blocks--;
	m->counts[from->of].bytes -= life->size;
	m->counts[from->of].slow_begun -= place->slow;
	pool_give(&from->pool, place->in[1].slot);
	to->blocks++;
	m->counts[of].blocks++;
	m->counts[of].bytes += life->size;
	m->counts[of].slow_begun += place->slow;
	place->in[1].pool = pool;
	place->in[1].slot = pool_take(&to->pool);
}

static bool is_object(const struct pooling_model *m, uint32_t type, const struct life *life)
{
	if (life->vtable)
		return true;
	switch (life->api) {
	case SHINY_API_NEW:
	case SHINY_API_NEW_ALIGNED:
		return type >= m->type_ids || !m->no_object[type];
	case SHINY_API_EITHER_ALLOC:
		return type < m->type_ids && m->is_object[type];
	default:
		return false;
	}
}

/* Of a chunk: bytes, whole pages; and how many slots it has. */
static uint64_t chunk_bytes(const struct pooling_model *m, uint64_t slot, uint64_t *slots)
{
	uint64_t chunk = m->constants->chunk;

	*slots = slot > chunk ? 1 : chunk / slot;
	return slot > chunk ? (slot + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES : chunk;
}

/* The block is live at the moment. */
static void hold(struct pooling_model *m, struct pool_held *held, const struct life *life,
		 const struct pool_place *place)
{
	for (unsigned i = 0; i < PLACE_POOLS; i++) {
		const struct pooled *p = &m->pools[place->in[i].pool];
		struct page_refs *refs = i ? held->types : held->groups;
		uint64_t slots, chunk = chunk_bytes(m, p->slot, &slots), slot = place->in[i].slot;
		uint64_t whole =
			page_refs_add(&refs[0], p->of, place->process, life->address, life->size);

		held->of[p->of][0] += whole;
		if (p->of < GROUPS) {
			held->buckets[p->of / POPULATIONS][0] += whole;
			held->total[0] += whole;
		}
		held->of[p->of][1] +=
			page_refs_add(&refs[1], place->in[i].pool, 0,
				      slot / slots * chunk + slot % slots * p->slot, life->size);
	}
}

/* Adds up the different pages on which blocks begin or end, and forgets them. */
static void hold_count(const struct pooling_model *m, struct pool_held *held)
{
	struct page_refs *all[] = { &held->groups[0], &held->types[0], &held->groups[1],
				    &held->types[1] };

	for (unsigned i = 0; i < 4; i++) {
		bool with = i >= 2;

		page_refs_sort(all[i]);
		for (size_t k = 0; k < all[i]->count; k++) {
			const struct page_ref *ref = &all[i]->at[k],
					      *before = k && ref[-1].page == ref->page ? &ref[-1]
										       : NULL;
			uint64_t of = with ? m->pools[ref->who].of : ref->who;

			held->of[of][with]++;
			/* a page's groups stand together, and those of a bucket among them */
			if (i == 0) {
				held->total[0] += !before;
				held->buckets[of / POPULATIONS][0] +=
					!before || before->who / POPULATIONS != of / POPULATIONS;
			}
		}
		page_refs_deinit(all[i]);
	}
	for (uint32_t g = 0; g < GROUPS; g++) {
		held->buckets[g / POPULATIONS][1] += held->of[g][1];
		held->total[1] += held->of[g][1];
	}
}

static uint64_t model_peak(void *context, const struct replay *replay, uint64_t moment)
{
	struct pooling_model *m = context;

	for (size_t i = 0; i < replay->process_count; i++) {
		const struct replay_process *p = &replay->processes[i];
		const struct pool_place *place;

		if (!p->wanted || p->end < moment)
			continue;
		replay_each(p, life) if (is_pooled(life) &&
					 (place = place_map_find(&m->places, p->id, life->address)))
			hold(m, &m->peak, life, place);
	}
	hold_count(m, &m->peak);
	return UINT64_MAX;
}

static void model_death(void *context, const struct replay *replay,
			const struct replay_process *process, const struct life *life,
			const struct life_death *death)
{
	struct pooling_model *m = context;
	bool ended = death->end == LIFE_FREED || death->end == LIFE_REALLOCED, object;
	struct pool_place *place;

	if (!is_pooled(life) || !(place = place_map_find(&m->places, process->id, life->address)))
		return;
	object = is_object(m, replay_type(replay, process, life), life);
	for (unsigned i = 0; i < PLACE_POOLS; i++) {
		struct pooled *p = &m->pools[place->in[i].pool];
		struct pool_counts *counts = &m->counts[p->of];

		p->destroyed += object && ended;
		counts->ended += ended;
		counts->freed += death->end == LIFE_FREED;
		counts->slow_ended += ended && place->slow;
		counts->objects += object;
		counts->destroyed += object && ended;
	}
	if (death->end == LIFE_NEVER) {
		if (!process->early)
			hold(m, &m->end, life, place);
		return;
	}
	for (unsigned i = 0; i < PLACE_POOLS; i++)
		pool_give(&m->pools[place->in[i].pool].pool, place->in[i].slot);
	place_map_remove(&m->places, place);
}

/* ---- adding up ---- */

static void add_counts(const struct pooling_constants *k, struct pooling_row *row,
		       const struct pool_counts *c)
{
	uint64_t slow = c->slow_begun + c->slow_ended;

	row->blocks = c->blocks;
	row->bytes = c->bytes;
	row->objects = c->objects;
	row->destroyed = c->destroyed;
	row->without.calls = c->blocks + c->freed;
	row->without.slow = slow;
	row->without.cycles = (c->blocks - c->slow_begun) * k->alloc +
			      (c->ended - c->slow_ended) * k->free + slow * k->slow;
	row->with.cycles = (c->blocks + c->ended) * k->reuse;
}

static void add_pool(const struct pooling_model *m, struct pooling_row *row, const struct pooled *p)
{
	uint64_t slots, chunks;

	chunk_bytes(m, p->slot, &slots);
	chunks = (p->pool.high + slots - 1) / slots;
	row->most += p->pool.high;
	row->pools++;
	row->deferred += p->destroyed < p->pool.high ? p->destroyed : p->pool.high;
	row->with.calls += chunks;
	row->with.slow += chunks;
	row->with.cycles += chunks * m->constants->slow;
}

static void add_side(struct pooling_side *to, const struct pooling_side *side)
{
	to->calls += side->calls;
	to->slow += side->slow;
	to->cycles += side->cycles;
}

/* All but the pages. */
static void add_row(struct pooling_row *to, const struct pooling_row *row)
{
	to->blocks += row->blocks;
	to->bytes += row->bytes;
	to->most += row->most;
	to->pools += row->pools;
	to->objects += row->objects;
	to->destroyed += row->destroyed;
	to->deferred += row->deferred;
	add_side(&to->without, &row->without);
	add_side(&to->with, &row->with);
}

static void set_pages(struct pooling_row *row, const uint64_t peak[2], const uint64_t end[2])
{
	row->without.peak_pages = peak[0];
	row->with.peak_pages = peak[1];
	row->without.end_pages = end[0];
	row->with.end_pages = end[1];
}

static void count_used(void *context, uint32_t groups, uint64_t pages)
{
	struct pooling *out = context;

	out->total.used_pages += pages;
	for (uint32_t b = 0; b < PAGES_BUCKETS; b++) {
		uint32_t replay = groups >> b * POPULATIONS & ((1 << POPULATIONS) - 1);

		out->buckets[b].used_pages += replay ? pages : 0;
		for (uint32_t p = 0; p < POPULATIONS; p++)
			out->groups[b][p].used_pages += replay >> p & 1 ? pages : 0;
	}
}

static int by_saving(const void *left, const void *right)
{
	const struct pooling_row *a = left, *b = right;
	int64_t x = pooling_saved(a), y = pooling_saved(b);

	return x != y ? (x < y ? 1 : -1) : strcmp(a->name, b->name);
}

static struct pooling_row *row_at(struct pooling *out, size_t of)
{
	return of < GROUPS ? &out->groups[of / POPULATIONS][of % POPULATIONS]
			   : &out->types[of - GROUPS];
}

static void finish(struct pooling_model *m, const char *match, struct pooling *out)
{
	size_t kept = 0;

	out->types = mem_zero(m->types.count, sizeof(*out->types));
	for (size_t i = 0; i < GROUPS + m->types.count; i++)
		add_counts(m->constants, row_at(out, i), &m->counts[i]);
	for (size_t i = 0; i < m->pool_count; i++)
		if (m->pools[i].blocks)
			add_pool(m, row_at(out, m->pools[i].of), &m->pools[i]);
	hold_count(m, &m->end);
	for (uint32_t g = 0; g < GROUPS; g++) {
		struct pooling_row *row = &out->groups[g / POPULATIONS][g % POPULATIONS];

		set_pages(row, m->peak.of[g], m->end.of[g]);
		add_row(&out->buckets[g / POPULATIONS], row);
		add_row(&out->total, row);
	}
	for (uint32_t b = 0; b < PAGES_BUCKETS; b++)
		set_pages(&out->buckets[b], m->peak.buckets[b], m->end.buckets[b]);
	set_pages(&out->total, m->peak.total, m->end.total);
	for (size_t i = 0; i <= m->process_count; i++)
		used_pages_each(&m->used[i], count_used, out);
	for (size_t i = 0; i < m->types.count; i++) {
		struct pooling_row row = out->types[i];

		if (!row.blocks || (match && !text_matches(match, m->types.names[i])))
			continue;
		set_pages(&row, m->peak.of[GROUPS + i], m->end.of[GROUPS + i]);
		row.name = m->types.names[i];
		m->types.names[i] = NULL;
		out->types[kept++] = row;
	}
	out->type_count = kept;
	if (kept)
		qsort(out->types, kept, sizeof(*out->types), by_saving);
	out->constants = *m->constants;
	out->duration = m->duration;
	out->peak_time = m->peak_time;
	out->collected = m->collected;
}

/* ---- loading ---- */

/* Which types are objects, as far as that is known. */
static struct shiny_err *load_forms(struct store *store, struct pooling_model *m)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err;

	m->type_ids = store_ids(store, "type");
	m->is_object = mem_zero(m->type_ids + 1, sizeof(*m->is_object));
	m->no_object = mem_zero(m->type_ids + 1, sizeof(*m->no_object));
	err = store_query(
		store,
		"SELECT id, form IN ('object', 'node') FROM type WHERE confidence <> 'label'", &q);
	while (!err && !(err = query_step(q, &row)) && row) {
		uint32_t id = query_id(q, 0, m->type_ids);

		m->is_object[id] = id && query_number(q, 1) != 0;
		m->no_object[id] = id && query_number(q, 1) == 0;
	}
	query_end(q);
	return err;
}

static void model_free(struct pooling_model *m)
{
	for (size_t i = 0; i < m->pool_count; i++)
		pool_deinit(&m->pools[i].pool);
	for (size_t i = 0; m->used && i <= m->process_count; i++)
		used_pages_deinit(&m->used[i]);
	for (unsigned i = 0; i < 2; i++) {
		page_refs_deinit(&m->peak.groups[i]);
		page_refs_deinit(&m->peak.types[i]);
		page_refs_deinit(&m->end.groups[i]);
		page_refs_deinit(&m->end.types[i]);
	}
	free(m->peak.of);
	free(m->end.of);
	free(m->used);
	free(m->pools);
	free(m->counts);
	hash_table_deinit(&m->pool_index);
	place_map_deinit(&m->places);
	free(m->site_lives);
	free(m->processes);
	process_ends_deinit(&m->ends);
	free(m->is_object);
	free(m->no_object);
	groups_deinit(&m->types);
	groups_deinit(&m->sites);
	size_classes_deinit(&m->allocators);
	free(m);
}

struct shiny_err *pooling_load(struct store *store, const struct filter *filter,
			       const struct pooling_constants *constants, const char *match,
			       bool full_names, bool progress, struct pooling *out)
{
	struct pooling_model *m = mem_zero(1, sizeof(*m));
	struct replay_observer learn = {
		.context = m, .birth = learn_birth, .death = learn_death, .moment = learn_ends
	};
	struct replay_observer model = { .context = m,
					 .birth = model_birth,
					 .death = model_death,
					 .vtable = model_vtable,
					 .moment = model_peak };
	struct shiny_err *err = session_duration(store, &m->duration);

	m->constants = constants;
	if (!err)
		err = size_classes_load(store, &m->allocators);
	if (!err)
		err = groups_load(store, GROUP_TYPE, full_names, &m->types);
	if (!err)
		err = groups_load(store, GROUP_SITE, full_names, &m->sites);
	if (!err)
		err = load_forms(store, m);
	m->process_count = m->allocators.count;
	m->processes = mem_zero(m->process_count + 1, sizeof(*m->processes));
	m->used = mem_zero(m->process_count + 1, sizeof(*m->used));
	m->site_lives = mem_zero(m->sites.count + 1, sizeof(*m->site_lives));
	m->counts = mem_zero(GROUPS + m->types.count, sizeof(*m->counts));
	m->peak.of = mem_zero(GROUPS + m->types.count, sizeof(*m->peak.of));
	m->end.of = mem_zero(GROUPS + m->types.count, sizeof(*m->end.of));
	if (!err)
		err = replay_run(store, filter, &learn, 1,
				 progress ? "how long each call site's blocks live" : NULL);
	model.first_moment = m->peak_time;
	range_maps_begin(store);
	if (!err)
		err = replay_run(store, filter, &model, 1,
				 progress ? "putting every block into pools" : NULL);
	if (!err)
		err = range_maps_end(store);
	if (!err) {
		struct pooling pooling = { 0 };

		finish(m, match, &pooling);
		*out = pooling;
	}
	model_free(m);
	return err;
}

void pooling_deinit(struct pooling *p)
{
	for (size_t i = 0; i < p->type_count; i++)
		free(p->types[i].name);
	free(p->types);
	*p = (struct pooling){ 0 };
}
