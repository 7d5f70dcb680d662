/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_query.h: lists a session's modules: path and build-id, to open their files, and their
 * allocations.
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
	uint64_t weight;       /* the order's value */
};
struct module_rows {
	struct module_row *at;
	size_t count, room;
};

/* Loads all modules, those with most call sites first; weight: call sites. */
SHINY_MUST_CHECK struct shiny_err *modules_by_sites(struct store *store, struct module_rows *out);
/* Loads all modules, those that allocate most of a type first; weight: allocations. */
SHINY_MUST_CHECK struct shiny_err *modules_by_type(struct store *store, const char *type,
						   struct module_rows *out);
/* Loads the module with this id, if there is one. */
SHINY_MUST_CHECK struct shiny_err *module_of_id(struct store *store, uint32_t id,
						struct module_rows *out);
/* Finds the module and address of a vtable; module 0: no such vtable. *given: the type's name
 * (malloc'ed) where a run time gave it and no module has it; else NULL. *kind: the address is none
 * of a vtable, but of a type's name, or stands for a kind of garbage-collected objects. */
SHINY_MUST_CHECK struct shiny_err *module_of_vtable(struct store *store, uint32_t vtable,
						    uint32_t *module, uint64_t *vaddr, bool *kind,
						    char **given);
void module_rows_deinit(struct module_rows *rows);

/* The blocks that a call in a module allocated, by its return address: those of stacks with it as
 * innermost frame. */
struct call_blocks {
	uint64_t ret, blocks;
};
struct module_calls {
	VEC(struct call_blocks) rows; /* sorted by ret */
};
SHINY_MUST_CHECK struct shiny_err *module_calls(struct store *store, const char *path,
						const char *build_id, struct module_calls *out);
void module_calls_deinit(struct module_calls *calls);

#endif
