/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_query.h: the modules of a session: path and build-id, for whoever opens their files, and
 * what was allocated in them.
 *
 * Runs: CLI. Signals: no. Allocates: the rows. Threads: one a store.
 */
#ifndef SHINY_MODULE_QUERY_H
#define SHINY_MODULE_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "../../base/mem.h"
#include "../../store/store.h"

struct module_row {
	char *path, *build_id; /* build_id in hex */
	uint64_t weight;       /* what they are ordered by */
};
struct module_rows {
	struct module_row *at;
	size_t count, room;
};

/* All modules, those with most call sites first; weight: call sites. */
SHINY_MUST_CHECK struct shiny_err *modules_by_sites(struct store *store, struct module_rows *out);
/* All modules, those that allocate most of a type first; weight: allocations. */
SHINY_MUST_CHECK struct shiny_err *modules_by_type(struct store *store, const char *type,
						   struct module_rows *out);
/* The module of an id, if there is one. */
SHINY_MUST_CHECK struct shiny_err *module_of_id(struct store *store, uint32_t id,
						struct module_rows *out);
/* Where a vtable lies; module 0: there is none of that id. */
SHINY_MUST_CHECK struct shiny_err *module_of_vtable(struct store *store, uint32_t vtable,
						    uint32_t *module, uint64_t *vaddr);
void module_rows_deinit(struct module_rows *rows);

/* The blocks that each call in a module made, by its return address: those of stacks whose
 * innermost frame it is. */
struct call_blocks {
	uint64_t ret, blocks;
};
struct module_calls {
	VEC(struct call_blocks) rows; /* by ret */
};
SHINY_MUST_CHECK struct shiny_err *module_calls(struct store *store, const char *path,
						const char *build_id, struct module_calls *out);
void module_calls_deinit(struct module_calls *calls);

#endif
