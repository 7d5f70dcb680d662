/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooling_model.c: see pooling_model.h.
 *
 * site_lives.h gives the lifetimes of each call site's blocks, and the time of most live bytes. The
 * pass gives each block a slot in two pools: that of its size and lifetime, and that of its type. A
 * block's address and slots determine the pages that it holds at a moment, without pools and with.
 *
 * Pools, places and recent results are mostly in no cache. So the pass only queues births and ends;
 * another thread applies them, many at a time, and prefetches for later ones: first the entry that
 * names a block's pools, then the pools. A block's slots are indexed by the place of its life in
 * the replay, without a search.
 */
#include "pooling_model.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/mem.h"

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

/* ---- what begins and ends ---- */

enum pool_change_kind { POOL_BEGINS, POOL_TYPED, POOL_ENDS, POOL_REMAINS, POOL_ABANDONED };
struct pool_change {
	uint64_t address, size;
	uint32_t process, place;    /* place: of its life */
	uint32_t of[PLACE_POOLS];   /* BEGINS: [0]: lifetime of its site, which with the block's
				     * bucket makes pool 0's `of`; [1]: pool 1's `of`; TYPED: only
				     * [1] */
	uint8_t kind, api;
	bool object, ended, freed;  /* for ENDS */
};

static uint32_t bucket_of(uint64_t size)
{
	uint32_t bucket = 0;

	while (size > pages_bucket_up_to[bucket])
		bucket++;
	return bucket;
}

/* Values of a change that are computed before it is applied. */
struct pool_ahead {
	uint64_t slot;
	uint32_t of;
	bool slow;
	struct pooling_recent *recent;
};

static struct pool_place *place_of(struct pooling_model *m, uint32_t place)
{
	if (place >= m->place_room)
		m->places = mem_reach(m->places, &m->place_room, place, sizeof(*m->places), 1024);
	return &m->places[place];
}

/* Prefetches the entry that names the change's pools. */
static void expect(struct pooling_model *m, const struct pool_change *c, struct pool_ahead *ahead)
{
	enum size_allocator allocator;
	struct size_room room;

	if (c->place < m->place_room)
		__builtin_prefetch(&m->places[c->place], 1);
	if (c->kind != POOL_BEGINS)
		return;
	allocator = size_allocator_of(&m->allocators, c->process, c->api);
	room = size_room(allocator, c->size, c->address);
	ahead->slow = room.mapped;
	ahead->slot = size_bin(allocator, room.slot);
	ahead->of = bucket_of(c->size) * POPULATIONS + c->of[0];
	ahead->recent = &m->recent[hash_keys((uint64_t)c->process << 32 | ahead->of,
					     ahead->slot << 32 | c->of[1]) %
				   POOLING_RECENT];
	__builtin_prefetch(ahead->recent, 1);
}

static bool is_recent(const struct pool_change *c, const struct pool_ahead *ahead)
{
	const struct pooling_recent *r = ahead->recent;

	return r->process == c->process && r->slot == ahead->slot && r->of[0] == ahead->of &&
	       r->of[1] == c->of[1];
}

/* Prefetches the pools, if they are known by now. */
static void prepare(const struct pooling_model *m, const struct pool_change *c,
		    const struct pool_ahead *ahead)
{
	bool begins = c->kind == POOL_BEGINS;

	if (begins ? !is_recent(c, ahead) : c->place >= m->place_room)
		return;
	for (unsigned i = 0; i < m->kinds; i++) {
		uint32_t pool = begins ? ahead->recent->pools[i] : m->places[c->place].in[i].pool;

		/* a new place has an undefined pool */
		if (pool < m->pool_count)
			__builtin_prefetch(&m->pools[pool], 1);
	}
}

static void put_block(struct pooling_model *m, const struct pool_change *c,
		      const struct pool_ahead *ahead)
{
	struct pooling_recent *recent = ahead->recent;
	struct pool_place *place = place_of(m, c->place);

	if (!is_recent(c, ahead)) {
		uint32_t of[PLACE_POOLS] = { ahead->of, c->of[1] };

		*recent = (struct pooling_recent){ .slot = ahead->slot, .process = c->process };
		for (unsigned i = 0; i < m->kinds; i++)
			recent->pools[i] = find_pool(m, c->process, of[i], ahead->slot);
		memcpy(recent->of, of, sizeof(of));
	}
	for (unsigned i = 0; i < m->kinds; i++) {
		struct pooled *p = &m->pools[recent->pools[i]];
		struct pool_counts *counts = &m->counts[p->of];

		place->in[i].pool = recent->pools[i];
		place->in[i].slot = pool_take(&p->pool) & INT32_MAX;
		place->in[i].slow = ahead->slow;
		p->blocks++;
		counts->blocks++;
		counts->bytes += c->size;
		counts->slow_begun += ahead->slow;
	}
	used_pages_mark(&m->used[c->process], c->address, c->size, ahead->of);
}

/* The block's type became known, or better: moves it to that type's pool, as if it had always been
 * there. */
static void change_type(struct pooling_model *m, const struct pool_change *c)
{
	struct pool_place *place = place_of(m, c->place);
	struct pooled *from = &m->pools[place->in[1].pool], *to;
	uint32_t of = c->of[1], pool;

	if (from->of == of)
		return;
	pool = find_pool(m, c->process, of, from->slot);
	from = &m->pools[place->in[1].pool];
	to = &m->pools[pool];
	from->blocks--;
	m->counts[from->of].blocks--;
	m->counts[from->of].bytes -= c->size;
	m->counts[from->of].slow_begun -= place->in[1].slow;
	pool_give(&from->pool, place->in[1].slot);
	to->blocks++;
	m->counts[of].blocks++;
	m->counts[of].bytes += c->size;
	m->counts[of].slow_begun += place->in[1].slow;
	place->in[1].pool = pool;
	place->in[1].slot = pool_take(&to->pool) & INT32_MAX;
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

/* Returns the bytes of a chunk, whole pages; *slots: the slots in it. */
uint64_t pooling_chunk_bytes(const struct pooling_model *m, uint64_t slot, uint64_t *slots)
{
	uint64_t chunk = m->constants->chunk;

	*slots = slot > chunk ? 1 : chunk / slot;
	return slot > chunk ? (slot + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES : chunk;
}

/* Adds a block that is live at the moment. */
static void hold(struct pooling_model *m, struct pool_held *held, const struct pool_change *c)
{
	const struct pool_place *place = place_of(m, c->place);

	for (unsigned i = 0; i < m->kinds; i++) {
		const struct pooled *p = &m->pools[place->in[i].pool];
		struct page_refs *refs = i ? held->types : held->groups;
		uint64_t slots, chunk = pooling_chunk_bytes(m, p->slot, &slots),
				slot = place->in[i].slot;
		uint64_t whole =
			page_refs_add(&refs[0], p->of, c->process, c->address, c->size);

		held->of[p->of][0] += whole;
		if (p->of < POOLING_GROUPS) {
			held->buckets[p->of / POPULATIONS][0] += whole;
			held->total[0] += whole;
		}
		held->of[p->of][1] +=
			page_refs_add(&refs[1], place->in[i].pool, 0,
				      slot / slots * chunk + slot % slots * p->slot, c->size);
	}
}

/* Adds up the distinct pages on which blocks begin or end, and drops them. */
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
			/* a page's groups are adjacent, and those of a bucket among them */
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

/* Ends a block, or leaves it as live. */
static void end_block(struct pooling_model *m, const struct pool_change *c)
{
	const struct pool_place *place = place_of(m, c->place);

	for (unsigned i = 0; i < m->kinds; i++) {
		struct pooled *p = &m->pools[place->in[i].pool];
		struct pool_counts *counts = &m->counts[p->of];

		p->destroyed += c->object && c->ended;
		counts->ended += c->ended;
		counts->freed += c->freed;
		counts->slow_ended += c->ended && place->in[i].slow;
		counts->objects += c->object;
		counts->destroyed += c->object && c->ended;
		if (c->kind == POOL_ENDS)
			pool_give(&p->pool, place->in[i].slot);
	}
	if (c->kind == POOL_REMAINS)
		hold(m, &m->end, c);
}

enum { AHEAD = 16 }; /* half as far for the pools */

static void apply_changes(void *context, const void *changes, size_t count)
{
	struct pooling_model *m = context;
	const struct pool_change *first = changes;
	struct pool_ahead ahead[AHEAD * 2] = { 0 };

	for (size_t i = 0; i < count + AHEAD; i++) {
		size_t soon = i - AHEAD / 2, now = i - AHEAD; /* > count: none yet */

		if (i < count)
			expect(m, &first[i], &ahead[i % (AHEAD * 2)]);
		if (i >= AHEAD / 2 && soon < count)
			prepare(m, &first[soon], &ahead[soon % (AHEAD * 2)]);
		if (i < AHEAD)
			continue;
		switch ((enum pool_change_kind)first[now].kind) {
		case POOL_BEGINS:
			put_block(m, &first[now], &ahead[now % (AHEAD * 2)]);
			break;
		case POOL_TYPED:
			change_type(m, &first[now]);
			break;
		default:
			end_block(m, &first[now]);
		}
	}
}

/* ---- the pass ---- */

static struct pool_change change_of(const struct replay_process *process, const struct life *life,
				    enum pool_change_kind kind)
{
	return (struct pool_change){ .address = life->address,
				     .size = life->size,
				     .process = process->id,
				     .place = life->place,
				     .kind = (uint8_t)kind,
				     .api = life->api };
}

static uint32_t type_pools(const struct pooling_model *m, const struct replay_process *process,
			   const struct life *life)
{
	return m->kinds == PLACE_POOLS ? POOLING_GROUPS + groups_find(&m->types, process, life) : 0;
}

static void model_birth(void *context, const struct replay_process *process,
			const struct life *life)
{
	struct pooling_model *m = context;
	struct pool_change c = change_of(process, life, POOL_BEGINS);

	if (!site_lives_counted(life))
		return;
	c.of[0] = m->site_lifetime[groups_find(&m->lives->sites, process, life)];
	c.of[1] = type_pools(m, process, life);
	change_queue_give(m->changes, c);
}

static void model_vtable(void *context, const struct replay_process *process,
			 const struct life *life, uint32_t before)
{
	struct pooling_model *m = context;
	struct pool_change c = change_of(process, life, POOL_TYPED);

	if (!site_lives_counted(life) || m->kinds < PLACE_POOLS)
		return;
	c.of[1] = type_pools(m, process, life);
	change_queue_give(m->changes, c);
}

static void model_death(void *context, const struct replay_process *process,
			const struct life *life, const struct life_death *death)
{
	struct pooling_model *m = context;
	struct pool_change c = change_of(process, life,
					 death->end != LIFE_NEVER ? POOL_ENDS
					 : process->early	  ? POOL_ABANDONED
								  : POOL_REMAINS);

	if (!site_lives_counted(life))
		return;
	c.object = is_object(m, replay_type(process, life), life);
	c.ended = death->end == LIFE_FREED || death->end == LIFE_REALLOCED;
	c.freed = death->end == LIFE_FREED;
	change_queue_give(m->changes, c);
}

static uint64_t model_peak(void *context, const struct replay *replay, uint64_t moment)
{
	struct pooling_model *m = context;

	change_queue_settle(m->changes);
	for (size_t i = 0; i < replay->process_count; i++) {
		const struct replay_process *p = &replay->processes[i];

		if (!p->wanted || p->end < moment)
			continue;
		replay_each(p, life)
		{
			struct pool_change c = change_of(p, life, POOL_REMAINS);

			if (site_lives_counted(life))
				hold(m, &m->peak, &c);
		}
	}
	hold_count(m, &m->peak);
	return UINT64_MAX;
}

/* ---- loading ---- */

/* Loads which types are objects, as far as known. */
static struct shiny_err *load_forms(struct store *store, struct pooling_model *m)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err;

	m->type_ids = store_ids(store, "type");
	m->is_object = mem_zero(m->type_ids + 1, sizeof(*m->is_object));
	m->no_object = mem_zero(m->type_ids + 1, sizeof(*m->no_object));
	err = store_query(
		store,
		"SELECT id, form IN ('object', 'node') FROM type WHERE confidence <> 'label'", &q);
	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, m->type_ids);

		m->is_object[id] = id && query_number(q, 1) != 0;
		m->no_object[id] = id && query_number(q, 1) == 0;
	}
	return err;
}

void pooling_model_free(struct pooling_model *m)
{
	change_queue_destroy(m->changes);
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
	free(m->places);
	free(m->site_lifetime);
	free(m->is_object);
	free(m->no_object);
	groups_deinit(&m->types);
	size_classes_deinit(&m->allocators);
	free(m);
}

struct shiny_err *pooling_model_run(struct pooling_model *m, struct store *store,
				    const struct filter *filter, unsigned flags)
{
	bool full_names = flags & POOLING_FULL_NAMES, progress = flags & POOLING_PROGRESS;
	struct replay_observer model = { .context = m,
					 .birth = model_birth,
					 .death = model_death,
					 .vtable = model_vtable,
					 .moment = model_peak };
	struct shiny_err *err = size_classes_load(store, &m->allocators);

	if (!err)
		err = groups_load(store, GROUP_TYPE, full_names, &m->types);
	if (!err)
		err = load_forms(store, m);
	m->kinds = flags & POOLING_TYPES ? PLACE_POOLS : 1;
	m->process_count = m->allocators.count;
	m->used = mem_zero(m->process_count + 1, sizeof(*m->used));
	m->counts = mem_zero(POOLING_GROUPS + m->types.count, sizeof(*m->counts));
	m->peak.of = mem_zero(POOLING_GROUPS + m->types.count, sizeof(*m->peak.of));
	m->end.of = mem_zero(POOLING_GROUPS + m->types.count, sizeof(*m->end.of));
	m->site_lifetime = mem_zero(m->lives->sites.count + 1, sizeof(*m->site_lifetime));
	for (uint32_t i = 0; i < m->lives->sites.count; i++)
		m->site_lifetime[i] = (uint8_t)site_lives_usual(m->lives, i);
	m->changes = change_queue_create(sizeof(struct pool_change), apply_changes, m);
	model.first_moment = m->lives->peak_time;
	range_maps_begin(store);
	if (!err)
		err = replay_run(store, filter, &model, 1,
				 progress ? "putting every block into pools" : NULL);
	change_queue_settle(m->changes);
	if (!err)
		err = range_maps_end(store);
	if (!err)
		hold_count(m, &m->end);
	return err;
}
