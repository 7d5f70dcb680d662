/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_query.h: types by what people call them, and how many objects of one the session saw.
 *
 * Runs: CLI. Signals: no. Allocates: yes (mem.h). Threads: one a store.
 */
#ifndef SHINY_TYPE_QUERY_H
#define SHINY_TYPE_QUERY_H

#include "../../base/mem.h"
#include "filter.h"

/* Full names, in order. */
typedef VEC(char *) type_names_t;

/*
 * The types of the session that `text` may mean: those with this full name; else with this short
 * name; else those whose full or short name has it as a part (* and ? are wildcards).
 */
SHINY_MUST_CHECK struct shiny_err *type_query_find(struct store *store, const char *text,
						   type_names_t *out);
void type_names_deinit(type_names_t *names);

/* Objects of a type, and the blocks that hold them. */
struct type_objects {
	uint64_t live, live_blocks, allocs, alloc_blocks;
	uint64_t guessed; /* allocations that only may be of it; in none of the above */
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
