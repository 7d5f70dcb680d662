/* SPDX-License-Identifier: Apache-2.0 */
/*
 * types.h: blocks and bytes by type, and how surely the types are known.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_TYPES_H
#define SHINY_TYPES_H

#include "../query/filter.h"

/* The key of a row. */
enum types_by {
	TYPES_BY_BLOCK,      /* what a block is: type, form, container and confidence ("int[] in
	                      * std::vector<int>") */
	TYPES_BY_TYPE,       /* the type of the object or of the elements, whatever holds it */
	TYPES_BY_CONTAINER,  /* the container whose storage it is */
	TYPES_BY_RULE, TYPES_BY_CONFIDENCE,
	TYPES_BY_MODULE,     /* of the call site */
};

/* From the surest on. */
enum level { LEVEL_EXACT, LEVEL_HIGH, LEVEL_MEDIUM, LEVEL_LOW, LEVEL_LABEL, LEVEL_NONE, LEVELS };
extern const char *const level_names[LEVELS];

struct type_row {
	char *name;       /* of the row, whatever it groups by, in full; NULL: what has none (no
	                   * type, no container, no module) */
	/* BY_BLOCK has all of these, the other groupings have what all blocks of the row agree on;
	 * NULL otherwise */
	char *type, *container, *form, *confidence;
	char *rules, *sources; /* what the types were concluded from: one, or several with ", "
	                        * between; NULL none */
	char *module;     /* path of the one module that has its call sites; NULL */
	bool or_derived;  /* it is this type or a class derived from it */
	uint64_t class_bytes; /* 0 unknown */
	uint64_t at_least;    /* blocks whose vptr was read only at the free */
	uint64_t sites, processes;
	uint64_t least_size, most_size; /* of the requests */
	struct sums sums;
};
struct types {
	struct type_row *rows;
	size_t count, room;
	struct sums total; /* over the rows that match */
	uint64_t typed_allocs, typed_live_bytes; /* of these, with a type: no label, not
	                                          * LEVEL_NONE */
	struct sums levels[LEVELS]; /* over all blocks of the filter, whatever matches */
};

/* `match`: text_matches() on the type, in full or short, the container or the module; NULL all. */
SHINY_MUST_CHECK struct shiny_err *types_load(struct store *store, const struct filter *filter,
					      enum types_by by, const char *match,
					      enum sums_order order, struct types *out);
void types_deinit(struct types *types);

#endif
