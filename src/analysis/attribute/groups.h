/* SPDX-License-Identifier: Apache-2.0 */
/*
 * groups.h: what makes a row of an analysis over lives: the type of a block, its call site, the
 * component that owns it, the tag of the thread that allocated it, or its sample: its process, its
 * stack and its type together, for exports that join rows of table stat with what a replay says.
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

struct group_key { /* of a sample */
	uint32_t process, stack, type;
};

struct groups {
	enum group_by by;
	bool borrowed; /* all of it is the store's: groups_deinit() frees nothing */
	/* name: "int[] in std::vector<int>", "parse (parser.c:12)", "blink"; group 0 is what has
	 * none. Samples have no names: NULL */
	char **names;
	char **full_names; /* of types and call sites, not shortened; else NULL */
	size_t count;
	struct group_key *keys; /* samples: keys[n - 1] is group n's; in ascending order */
	struct hash_table key_index; /* of keys */
	uint32_t *of; /* type, stack or tag id → group; of components perhaps with
	               * COMPONENT_ASK_TYPE */
	size_t of_count;
	uint32_t *of_type; /* components: type id → group, 0 none */
	size_t of_type_count;
};

/* `full`: type names are not shortened. Components are those of the built-in rules. */
SHINY_MUST_CHECK struct shiny_err *groups_load(struct store *store, enum group_by by, bool full,
					       struct groups *out);
/* GROUP_COMPONENT with other rules; they need not outlive it. */
SHINY_MUST_CHECK struct shiny_err *groups_load_components(struct store *store,
							  const struct component_rules *rules,
							  struct groups *out);
void groups_deinit(struct groups *groups);

static inline uint64_t group_key_hash(const struct group_key *key)
{
	return hash_keys((uint64_t)key->process << 32 | key->stack, key->type);
}

/* The group of a sample, whose hash is known; 0: there is none. */
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

/* What `of` says of a component where the block's type may say it. */
static inline uint32_t groups_by_type(const struct groups *groups, uint32_t group, uint32_t type)
{
	if (type < groups->of_type_count && groups->of_type[type])
		return groups->of_type[type];
	return group & ~COMPONENT_ASK_TYPE;
}

/* The row of a block of this type and stack, in groups of types, sites or components. */
static inline uint32_t groups_find_ids(const struct groups *groups, uint32_t type, uint32_t stack)
{
	uint32_t id = groups->by == GROUP_TYPE ? type : stack;
	uint32_t group = id < groups->of_count ? groups->of[id] : 0;

	return group & COMPONENT_ASK_TYPE ? groups_by_type(groups, group, type) : group;
}

/* The row of a block of this key and tag: below groups->count. */
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

/* That groups_find_key() will be asked, where that takes a while. */
static inline __attribute__((always_inline)) void groups_expect(const struct groups *groups,
								const struct group_key *key)
{
	if (groups->by == GROUP_SAMPLE)
		hash_table_expect(&groups->key_index, group_key_hash(key));
}

/* What groups_find_key() wants to know of a block; its type where that counts. */
static inline struct group_key groups_key(const struct groups *groups, const struct replay *replay,
					  const struct replay_process *process,
					  const struct life *life)
{
	bool typed = groups->by != GROUP_SITE && groups->by != GROUP_TAG;

	return (struct group_key){ process->id, life->stack,
				   typed ? replay_type(replay, process, life) : 0 };
}

/* The row that a block belongs to: below groups->count. */
static inline uint32_t groups_find(const struct groups *groups, const struct replay *replay,
				   const struct replay_process *process, const struct life *life)
{
	struct group_key key = groups_key(groups, replay, process, life);

	return groups_find_key(groups, &key, life->tag);
}

#endif
