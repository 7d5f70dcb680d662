/* SPDX-License-Identifier: Apache-2.0 */
/*
 * groups.h: assigns blocks to the rows of an analysis: by type, call site, component, tag of the
 * allocating thread, or sample: process, stack and type together, for exports that join table stat
 * with a replay.
 *
 * Runs: CLI. Signals: no. Allocates: yes, by distinct types, sites and stacks. Threads: one a
 * store.
 */
#ifndef SHINY_GROUPS_H
#define SHINY_GROUPS_H

#include "../../base/hash.h"
#include "../../base/hash_table.h"
#include "component.h"
#include "../replay/replay.h"

enum group_by { GROUP_TYPE, GROUP_SITE, GROUP_COMPONENT, GROUP_TAG, GROUP_SAMPLE };
extern const char *const group_names[]; /* "type", … */

struct group_key { /* the key of a sample */
	uint32_t process, stack, type;
};

struct groups {
	enum group_by by;
	bool borrowed; /* the store owns all of it: groups_deinit() frees nothing */
	/* "int[] in std::vector<int>", "parse (parser.c:12)", "blink"; [0] names blocks without a
	 * group. NULL: samples have no names */
	char **names;
	char **full_names; /* of types and call sites, not shortened; else NULL */
	size_t count;
	struct group_key *keys; /* of samples, ascending: keys[n - 1] is group n's */
	struct hash_table key_index; /* index of `keys` */
	uint32_t *of; /* type, stack or tag id → group; of components perhaps with
		       * COMPONENT_ASK_TYPE */
	size_t of_count;
	uint32_t *of_type; /* components: type id → group, 0: none */
	size_t of_type_count;
	uint32_t *of_function; /* components: as in struct component_stacks */
	size_t of_function_count;
};

/* Loads groups. `full`: type names are not shortened. Components use the built-in rules. */
SHINY_MUST_CHECK struct shiny_err *groups_load(struct store *store, enum group_by by, bool full,
					       struct groups *out);
/* Loads GROUP_COMPONENT with other rules, which it needs only during the call. */
SHINY_MUST_CHECK struct shiny_err *groups_load_components(struct store *store,
							  const struct component_rules *rules,
							  struct groups *out);
void groups_deinit(struct groups *groups);

static inline uint64_t group_key_hash(const struct group_key *key)
{
	return hash_keys((uint64_t)key->process << 32 | key->stack, key->type);
}

/* Returns the group of a sample with this hash; 0: none. */
static inline uint32_t groups_find_hashed(const struct groups *groups, const struct group_key *key,
					  uint64_t hash)
{
	uint32_t at = hash_table_find(&groups->key_index, hash, i,
				      groups->keys[i].process == key->process &&
					      groups->keys[i].stack == key->stack &&
					      groups->keys[i].type == key->type);

	return at != HASH_NONE ? at + 1 : 0;
}

uint32_t groups_find_sample(const struct groups *groups, const struct group_key *key);

/* Resolves a group with COMPONENT_ASK_TYPE: the type's component, if it has one, else the
 * stack's. */
static inline uint32_t groups_by_type(const struct groups *groups, uint32_t group, uint32_t type)
{
	if (type < groups->of_type_count && groups->of_type[type])
		return groups->of_type[type];
	return group & ~COMPONENT_ASK_TYPE;
}

/* Returns the group of a block of this type and stack, by type, site or component. */
static inline uint32_t groups_find_ids(const struct groups *groups, uint32_t type, uint32_t stack)
{
	uint32_t id = groups->by == GROUP_TYPE ? type : stack;
	uint32_t group = id < groups->of_count ? groups->of[id] : 0;

	return group & COMPONENT_ASK_TYPE ? groups_by_type(groups, group, type) : group;
}

/* Returns the group of a block of this key and tag, below groups->count. */
static inline uint32_t groups_find_key(const struct groups *groups, const struct group_key *key,
				       uint32_t tag)
{
	uint32_t id, group;

	if (groups->by == GROUP_SAMPLE)
		return groups_find_sample(groups, key);
	id = groups->by == GROUP_TYPE  ? key->type
	     : groups->by == GROUP_TAG ? tag
				       : key->stack;
	group = id < groups->of_count ? groups->of[id] : 0;
	return group & COMPONENT_ASK_TYPE ? groups_by_type(groups, group, key->type) : group;
}

/* Prefetches for groups_find_key(), if that needs a look-up. */
static inline __attribute__((always_inline)) void groups_expect(const struct groups *groups,
								const struct group_key *key)
{
	if (groups->by == GROUP_SAMPLE)
		hash_table_expect(&groups->key_index, group_key_hash(key));
}

/* Returns the key that groups_find_key() needs of a block; the type is looked up only if it
 * matters. */
static inline struct group_key groups_key(const struct groups *groups,
					  const struct replay_process *process,
					  const struct life *life)
{
	bool typed = groups->by != GROUP_SITE && groups->by != GROUP_TAG;

	return (struct group_key){ process->id, life->stack,
				   typed ? replay_type(process, life) : 0 };
}

/* Returns the group of a block, below groups->count. */
static inline uint32_t groups_find(const struct groups *groups,
				   const struct replay_process *process, const struct life *life)
{
	struct group_key key = groups_key(groups, process, life);

	return groups_find_key(groups, &key, life->tag);
}

#endif
