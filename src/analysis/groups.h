/* SPDX-License-Identifier: Apache-2.0 */
/*
 * groups.h: what makes a row of an analysis over lives: the type of a block, or its call site.
 *
 * Runs: CLI. Signals: no. Allocates: yes, by distinct types, sites and stacks. Threads: one a store.
 */
#ifndef SHINY_GROUPS_H
#define SHINY_GROUPS_H

#include "lives.h"

enum group_by { GROUP_TYPE, GROUP_SITE };

struct groups {
	enum group_by by;
	/* name: "int[] in std::vector<int>", "parse (parser.c:12)"; group 0 is what has none */
	char **names;
	size_t count;
	uint32_t *of; /* type id or stack id → group */
	size_t of_count;
};

/* `full`: type names are not shortened. */
SHINY_MUST_CHECK struct shiny_err *groups_load(struct store *store, enum group_by by, bool full, struct groups *out);
void groups_deinit(struct groups *groups);

/* The row that a block belongs to: below groups->count. */
static inline uint32_t groups_find(const struct groups *groups, const struct lives *lives, const struct lives_process *process,
				   const struct life *life)
{
	uint32_t id = groups->by == GROUP_TYPE ? lives_type(lives, process, life) : life->stack;

	return id < groups->of_count ? groups->of[id] : 0;
}

#endif
