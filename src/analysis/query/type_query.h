/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_query.h: finds types by the names that users give them, and counts a type's objects.
 *
 * Runs: CLI. Signals: no. Allocates: yes (mem.h). Threads: one a store.
 */
#ifndef SHINY_TYPE_QUERY_H
#define SHINY_TYPE_QUERY_H

#include "../../base/mem.h"
#include "filter.h"

/* Full names, sorted. */
typedef VEC(char *) type_names_t;

/* Finds the types of `text`: those with this full name; else with this short name; else those whose
 * full or short name contains it (* and ? are wildcards). */
SHINY_MUST_CHECK struct shiny_err *type_query_find(struct store *store, const char *text,
						   type_names_t *out);
void type_names_deinit(type_names_t *names);

/* Objects of a type, and the blocks that hold them. */
struct type_objects {
	uint64_t live, live_blocks, allocs, alloc_blocks;
	uint64_t guessed; /* allocations that may be of the type; not in the counts above */
};
/*
 * Counts the objects of the type with the full name `name`, `bytes` each. A block of form object or
 * node holds one, an array or buffer as many as fit. Blocks of confidence medium or low, and those
 * that may be of a derived type, are guesses.
 */
SHINY_MUST_CHECK struct shiny_err *type_query_objects(struct store *store,
						      const struct filter *filter,
						      const char *name, uint64_t bytes,
						      struct type_objects *out);

#endif
