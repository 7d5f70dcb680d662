/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_ids.h: maps a process's own keys, such as addresses, to ids of the session.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_KEY_IDS_H
#define SHINY_KEY_IDS_H

#include <stdint.h>
#include <stdlib.h>

#include "../../base/hash.h"
#include "../../base/hash_table.h"
#include "../../base/mem.h"

struct key_id {
	uint64_t key;
	uint32_t id; /* 0: undefined */
};
struct key_ids { /* zeroed: none */
	VEC(struct key_id) list;
	struct hash_table table;
};

static inline uint32_t *key_ids_at(const struct key_ids *ids, uint64_t key)
{
	uint32_t at = hash_table_find(&ids->table, hash_key(key), i, ids->list.at[i].key == key);

	return at == HASH_NONE ? NULL : &ids->list.at[at].id;
}

static inline uint32_t key_ids_get(const struct key_ids *ids, uint64_t key)
{
	const uint32_t *id = key_ids_at(ids, key);

	return id ? *id : 0;
}

static inline void key_ids_set(struct key_ids *ids, uint64_t key, uint32_t id)
{
	uint32_t *at = key_ids_at(ids, key);

	if (at) {
		*at = id;
		return;
	}
	hash_table_add(&ids->table, hash_key(key), (uint32_t)ids->list.count);
	*vec_push(&ids->list) = (struct key_id){ key, id };
}

/* Copies the parent's definitions to a forked child. */
static inline void key_ids_clone(struct key_ids *ids, const struct key_ids *parent)
{
	for (size_t i = 0; i < parent->list.count; i++)
		key_ids_set(ids, parent->list.at[i].key, parent->list.at[i].id);
}

static inline void key_ids_deinit(struct key_ids *ids)
{
	free(ids->list.at);
	hash_table_deinit(&ids->table);
	*ids = (struct key_ids){ 0 };
}

#endif
