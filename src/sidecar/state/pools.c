/* SPDX-License-Identifier: Apache-2.0 */
/* pools.c: see pools.h. */
#include "pools.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../base/hash.h"

enum { DEPTH = 256 }; /* of pools; a program that claims more has roots there */

static uint32_t find_pool(const struct pools *pools, uint64_t key)
{
	return hash_table_find(&pools->keys, hash_key(key), i, pools->list.at[i].key == key);
}

static uint32_t find_object(const struct pools *pools, uint64_t address)
{
	return hash_table_find(&pools->addresses, hash_key(address), i,
			       pools->objects.at[i].address == address);
}

static uint32_t enter_pool(struct pools *pools, uint64_t key)
{
	uint32_t at = find_pool(pools, key);

	if (at != HASH_NONE)
		return at;
	at = pools->free_pool ? pools->free_pool - 1 : (uint32_t)pools->list.count;
	if (pools->free_pool)
		pools->free_pool = pools->list.at[at].next;
	else
		(void)vec_push(&pools->list);
	pools->list.at[at] = (struct pool_node){ .key = key };
	hash_table_add(&pools->keys, hash_key(key), at);
	return at;
}

struct pool_node *pools_get(struct pools *pools, uint64_t key)
{
	uint32_t at = enter_pool(pools, key);

	return &pools->list.at[at];
}

/* ---- the forest ---- */

static void unlink_pool(struct pools *pools, uint32_t at)
{
	struct pool_node *p = &pools->list.at[at];

	if (p->previous)
		pools->list.at[p->previous - 1].next = p->next;
	else if (p->parent)
		pools->list.at[p->parent - 1].child = p->next;
	if (p->next)
		pools->list.at[p->next - 1].previous = p->previous;
	p->parent = p->next = p->previous = 0;
}

/* True if `below` is the pool, or lies below it, or is too deep to tell. */
static bool is_below(const struct pools *pools, uint32_t below, uint32_t at)
{
	for (unsigned n = 0; n < DEPTH; n++) {
		if (below == at)
			return true;
		if (!pools->list.at[below].parent)
			return false;
		below = pools->list.at[below].parent - 1;
	}
	return true;
}

void pools_set_parent(struct pools *pools, uint64_t key, uint64_t parent)
{
	uint32_t at = enter_pool(pools, key), above = parent ? enter_pool(pools, parent) : 0;
	struct pool_node *p;

	unlink_pool(pools, at);
	if (!parent || is_below(pools, above, at))
		return;
	p = &pools->list.at[at];
	p->parent = above + 1;
	p->next = pools->list.at[above].child;
	if (p->next)
		pools->list.at[p->next - 1].previous = at + 1;
	pools->list.at[above].child = at + 1;
}

/* ---- objects ---- */

static void drop_object(struct pools *pools, uint32_t at)
{
	struct pool_object *o = &pools->objects.at[at];

	if (o->previous)
		pools->objects.at[o->previous - 1].next = o->next;
	else
		pools->list.at[o->pool - 1].object = o->next;
	if (o->next)
		pools->objects.at[o->next - 1].previous = o->previous;
	hash_table_remove(&pools->addresses, hash_key(o->address), at);
	*o = (struct pool_object){ .next = pools->free_object };
	pools->free_object = at + 1;
}

void pools_add(struct pools *pools, uint64_t key, uint64_t address)
{
	uint32_t pool = enter_pool(pools, key), at;
	struct pool_object *o;

	pools_remove(pools, address);
	at = pools->free_object ? pools->free_object - 1 : (uint32_t)pools->objects.count;
	if (pools->free_object)
		pools->free_object = pools->objects.at[at].next;
	else
		(void)vec_push(&pools->objects);
	o = &pools->objects.at[at];
	*o = (struct pool_object){ .address = address,
				   .pool = pool + 1,
				   .next = pools->list.at[pool].object };
	if (o->next)
		pools->objects.at[o->next - 1].previous = at + 1;
	pools->list.at[pool].object = at + 1;
	hash_table_add(&pools->addresses, hash_key(address), at);
}

uint64_t pools_remove(struct pools *pools, uint64_t address)
{
	uint32_t at = find_object(pools, address);
	uint64_t key;

	if (at == HASH_NONE)
		return 0;
	key = pools->list.at[pools->objects.at[at].pool - 1].key;
	drop_object(pools, at);
	return key;
}

/* ---- ends ---- */

static void end_objects(struct pools *pools, uint32_t at, pool_addresses *out)
{
	while (pools->list.at[at].object) {
		uint32_t object = pools->list.at[at].object - 1;

		*vec_push(out) = pools->objects.at[object].address;
		drop_object(pools, object);
	}
}

/* Forgets a pool without objects and children. */
static void drop_pool(struct pools *pools, uint32_t at)
{
	unlink_pool(pools, at);
	hash_table_remove(&pools->keys, hash_key(pools->list.at[at].key), at);
	pools->list.at[at] = (struct pool_node){ .next = pools->free_pool };
	pools->free_pool = at + 1;
}

static void end_children(struct pools *pools, uint32_t at, pool_addresses *out)
{
	uint32_t leaf = at, above;

	for (;; leaf = above) {
		while (pools->list.at[leaf].child)
			leaf = pools->list.at[leaf].child - 1;
		if (leaf == at)
			return;
		above = pools->list.at[leaf].parent - 1;
		end_objects(pools, leaf, out);
		drop_pool(pools, leaf);
	}
}

void pools_end(struct pools *pools, uint64_t key, unsigned what, pool_addresses *out)
{
	uint32_t at = find_pool(pools, key);

	if (at == HASH_NONE)
		return;
	if (what & SHINY_POOL_OBJECTS)
		end_objects(pools, at, out);
	if (what & SHINY_POOL_CHILDREN)
		end_children(pools, at, out);
	if (what == SHINY_POOL_ENDS_MAX)
		drop_pool(pools, at);
}

/* ---- all of it ---- */

static void *copy_of(const void *array, size_t count, size_t each)
{
	return count ? memcpy(mem_resize(NULL, count, each), array, count * each) : NULL;
}

void pools_clone(struct pools *to, const struct pools *from)
{
	*to = *from;
	to->list.at = copy_of(from->list.at, from->list.room, sizeof(*from->list.at));
	to->objects.at = copy_of(from->objects.at, from->objects.room, sizeof(*from->objects.at));
	to->keys.cells = copy_of(from->keys.cells, from->keys.room, sizeof(*from->keys.cells));
	to->addresses.cells = copy_of(from->addresses.cells, from->addresses.room,
				      sizeof(*from->addresses.cells));
}

void pools_deinit(struct pools *pools)
{
	free(pools->list.at);
	free(pools->objects.at);
	hash_table_deinit(&pools->keys);
	hash_table_deinit(&pools->addresses);
	*pools = (struct pools){ 0 };
}
