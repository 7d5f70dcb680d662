/* SPDX-License-Identifier: Apache-2.0 */
/*
 * types.h: blocks and bytes by type, with the types' confidence.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_TYPES_H
#define SHINY_TYPES_H

#include "../query/filter.h"

/* The grouping of rows. */
enum types_by {
	TYPES_BY_BLOCK,      /* type, form, container and confidence of a block ("int[] in
			      * std::vector<int>") */
	TYPES_BY_TYPE,       /* the type of the object or elements, in any container */
	TYPES_BY_CONTAINER,  /* the container that owns the storage */
	TYPES_BY_RULE, TYPES_BY_CONFIDENCE,
	TYPES_BY_MODULE,     /* module of the call site */
};

/* Confidence, from the highest to the lowest. */
enum level { LEVEL_EXACT, LEVEL_HIGH, LEVEL_MEDIUM, LEVEL_LOW, LEVEL_LABEL, LEVEL_NONE, LEVELS };
extern const char *const level_names[LEVELS];

struct type_row {
	char *name;       /* full name of the group; NULL: without a type, container or module */
	/* BY_BLOCK has all of these; other groupings have what all blocks of the row agree on, else
	 * NULL */
	char *type, *container, *form, *confidence;
	char *rules, *sources; /* rules and sources that gave the types, separated by ", "; NULL:
			        * none */
	char *module;     /* path of the module with all its call sites; NULL: several */
	bool or_derived;  /* this type or a class derived from it */
	uint64_t class_bytes; /* 0: unknown */
	uint64_t at_least;    /* blocks whose vptr was read only at the free */
	uint64_t sites, processes;
	uint64_t least_size, most_size; /* of the requests */
	struct sums sums;
};
struct types {
	struct type_row *rows;
	size_t count, room;
	struct sums total; /* sum of the rows that match */
	uint64_t typed_allocs, typed_live_bytes; /* of these, with a type: neither label nor
						  * LEVEL_NONE */
	struct sums levels[LEVELS]; /* of all blocks of the filter, matching or not */
};

/* Loads the rows. `match`: pattern (text_matches()) of the type, in full or short, the container or
 * the module; NULL: all. */
SHINY_MUST_CHECK struct shiny_err *types_load(struct store *store, const struct filter *filter,
					      enum types_by by, const char *match,
					      enum sums_order order, struct types *out);
void types_deinit(struct types *types);

#endif
