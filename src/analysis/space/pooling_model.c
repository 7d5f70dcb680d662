/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooling_model.c: see pooling_model.h.
 *
 * The first pass learns how long each call site's blocks live, and when most bytes were live. The
 * second pass sees every birth and death again, and gives each block a slot in two pools: that of
 * its size and lifetime, and that of its type. A block's own address and its slots are enough to
 * say at a moment which pages are held, without pools and with.
 */
#include "pooling_model.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/mem.h"

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
	struct pooling_recent *recent =
		&m->recent[hash_pair((uint64_t)process->id << 32 | life->stack, slot) %
			   POOLING_RECENT];

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
	pools[1] = find_pool(m, process->id,
			     POOLING_GROUPS + groups_find(&m->types, replay, process, life), slot);
	if (!life->vtable)
		*recent = (struct pooling_recent){
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
	of = POOLING_GROUPS + groups_find(&m->types, replay, process, life);
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
uint64_t pooling_chunk_bytes(const struct pooling_model *m, uint64_t slot, uint64_t *slots)
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
		uint64_t slots, chunk = pooling_chunk_bytes(m, p->slot, &slots),
				slot = place->in[i].slot;
		uint64_t whole =
			page_refs_add(&refs[0], p->of, place->process, life->address, life->size);

		held->of[p->of][0] += whole;
		if (p->of < POOLING_GROUPS) {
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
	for (uint32_t g = 0; g < POOLING_GROUPS; g++) {
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

void pooling_model_free(struct pooling_model *m)
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

struct shiny_err *pooling_model_run(struct pooling_model *m, struct store *store,
				    const struct filter *filter, bool full_names, bool progress)
{
	struct replay_observer learn = {
		.context = m, .birth = learn_birth, .death = learn_death, .moment = learn_ends
	};
	struct replay_observer model = { .context = m,
					 .birth = model_birth,
					 .death = model_death,
					 .vtable = model_vtable,
					 .moment = model_peak };
	struct shiny_err *err = session_duration(store, &m->duration);

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
	m->counts = mem_zero(POOLING_GROUPS + m->types.count, sizeof(*m->counts));
	m->peak.of = mem_zero(POOLING_GROUPS + m->types.count, sizeof(*m->peak.of));
	m->end.of = mem_zero(POOLING_GROUPS + m->types.count, sizeof(*m->end.of));
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
	if (!err)
		hold_count(m, &m->end);
	return err;
}
