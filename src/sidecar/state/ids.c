/* SPDX-License-Identifier: Apache-2.0 */
/* ids.c: see ids.h. */
#include "ids.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"

typedef bool same_fn(const struct ids *ids, uint32_t id, const void *key);
typedef uint64_t hash_fn(const struct ids *ids, uint32_t id);

static uint32_t *slot_of(const struct ids *ids, const struct id_table *t, uint64_t hash,
			 same_fn *same, const void *key)
{
	size_t i = hash & (t->room - 1);

	while (t->slots[i] && !(key && same(ids, t->slots[i], key)))
		i = (i + 1) & (t->room - 1);
	return &t->slots[i];
}

/* The slot of the key: its id stands in it, or 0 and the caller fills it in. */
static uint32_t *look_up(struct ids *ids, struct id_table *t, uint64_t hash, same_fn *same,
			 hash_fn *rehash, const void *key)
{
	if (t->count * 4 >= t->room * 3) {
		struct id_table old = *t;

		t->room = old.room ? old.room * 2 : 1024;
		t->slots = mem_zero(t->room, sizeof(*t->slots));
		for (size_t i = 0; i < old.room; i++)
			if (old.slots[i])
				*slot_of(ids, t, rehash(ids, old.slots[i]), same, NULL) = old.slots[i];
		free(old.slots);
	}
	return slot_of(ids, t, hash, same, key);
}

void ids_deinit(struct ids *ids)
{
	for (size_t i = 0; i < ids->modules.count; i++)
		free(ids->modules.at[i].path);
	free(ids->modules.at);
	free(ids->frames.at);
	free(ids->vtables.at);
	free(ids->stacks.at);
	free(ids->stack_frames.at);
	free(ids->frame_table.slots);
	free(ids->vtable_table.slots);
	free(ids->stack_table.slots);
	*ids = (struct ids){ 0 };
}

uint32_t ids_module(struct ids *ids, const char *path, const uint8_t *build_id,
		    uint32_t build_id_bytes)
{
	struct id_module *m;

	for (size_t i = 0; i < ids->modules.count; i++) {
		m = &ids->modules.at[i];
		if (m->build_id_bytes == build_id_bytes &&
		    !memcmp(m->build_id, build_id, build_id_bytes) && !strcmp(m->path, path))
			return (uint32_t)i + 1;
	}
	m = vec_push(&ids->modules);
	*m = (struct id_module){ .path = mem_text(path), .build_id_bytes = build_id_bytes };
	memcpy(m->build_id, build_id, build_id_bytes);
	return (uint32_t)ids->modules.count;
}

static bool same_frame(const struct ids *ids, uint32_t id, const void *key)
{
	const struct id_place *a = &ids->frames.at[id - 1], *b = key;

	return a->module == b->module && a->vaddr == b->vaddr;
}

static uint64_t hash_frame(const struct ids *ids, uint32_t id)
{
	return hash_pair(ids->frames.at[id - 1].module, ids->frames.at[id - 1].vaddr);
}

uint32_t ids_frame(struct ids *ids, uint32_t module, uint64_t vaddr)
{
	struct id_place place = { .module = module, .vaddr = vaddr };
	uint32_t *slot = look_up(ids, &ids->frame_table, hash_pair(module, vaddr), same_frame,
				 hash_frame, &place);

	if (!*slot) {
		*vec_push(&ids->frames) = place;
		*slot = (uint32_t)ids->frames.count;
		ids->frame_table.count++;
	}
	return *slot;
}

static bool same_vtable(const struct ids *ids, uint32_t id, const void *key)
{
	const struct id_place *a = &ids->vtables.at[id - 1], *b = key;

	return a->module == b->module && a->vaddr == b->vaddr && a->kind == b->kind;
}

static uint64_t hash_vtable(const struct ids *ids, uint32_t id)
{
	return hash_pair(ids->vtables.at[id - 1].module, ids->vtables.at[id - 1].vaddr);
}

uint32_t ids_vtable(struct ids *ids, uint32_t module, uint64_t vaddr, bool kind)
{
	struct id_place place = { .module = module, .kind = kind, .vaddr = vaddr };
	uint32_t *slot = look_up(ids, &ids->vtable_table, hash_pair(module, vaddr), same_vtable,
				 hash_vtable, &place);

	if (!*slot) {
		*vec_push(&ids->vtables) = place;
		*slot = (uint32_t)ids->vtables.count;
		ids->vtable_table.count++;
	}
	return *slot;
}

struct stack_key {
	const uint32_t *frames;
	uint32_t count;
};

static uint64_t hash_frames(const uint32_t *frames, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15), hash ^= hash >> 29;
	return hash_mix(hash);
}

static bool same_stack(const struct ids *ids, uint32_t id, const void *key)
{
	const struct id_stack *s = &ids->stacks.at[id - 1];
	const struct stack_key *k = key;

	return s->count == k->count &&
	       !memcmp(&ids->stack_frames.at[s->first], k->frames, k->count * sizeof(*k->frames));
}

static uint64_t hash_stack(const struct ids *ids, uint32_t id)
{
	const struct id_stack *s = &ids->stacks.at[id - 1];

	return hash_frames(&ids->stack_frames.at[s->first], s->count);
}

uint32_t ids_stack(struct ids *ids, const uint32_t *frames, uint32_t count)
{
	struct stack_key key = { frames, count };
	uint32_t *slot = look_up(ids, &ids->stack_table, hash_frames(frames, count), same_stack,
				 hash_stack, &key);

	if (!*slot) {
		*vec_push(&ids->stacks) = (struct id_stack){ (uint32_t)ids->stack_frames.count, count };
		for (uint32_t i = 0; i < count; i++)
			*vec_push(&ids->stack_frames) = frames[i];
		*slot = (uint32_t)ids->stacks.count;
		ids->stack_table.count++;
	}
	return *slot;
}
