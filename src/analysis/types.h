/* SPDX-License-Identifier: Apache-2.0 */
/*
 * types.h: blocks and bytes by type.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_TYPES_H
#define SHINY_TYPES_H

#include "scope.h"

struct type_row {
	char *type;       /* NULL: no type is known */
	char *module;     /* path of the module whose vtable it is; NULL */
	char *source;     /* "symbol", "rtti", "label", "building", "none" */
	uint64_t class_bytes; /* 0 unknown */
	uint64_t at_least;    /* blocks whose vptr was read only at the free */
	uint64_t sites, processes;
	struct sums sums;
};
struct types {
	struct type_row *rows;
	size_t count, room;
	struct sums total; /* over the rows that match */
	struct sums typed; /* of these, with a type */
};

/* `match`: text_matches() on type or module; NULL all. */
SHINY_MUST_CHECK struct shiny_err *types_load(struct store *store, const struct scope *scope, const char *match, enum order order,
					      struct types *out);
void types_deinit(struct types *types);

#endif
