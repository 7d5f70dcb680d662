/* SPDX-License-Identifier: Apache-2.0 */
/*
 * types.h: blocks and bytes by type, with the types' confidence.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_TYPES_H
#define SHINY_TYPES_H

#include "../../answer/field.h"
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
struct type_level {
	const char *name, *meaning;
	struct sums sums;
};

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
	uint64_t value;       /* that the rows are sorted by */
	enum types_by by;
	bool full;            /* the caller sets it: names are not shortened */
	struct sums sums;
};
struct types {
	struct type_row *rows;
	size_t count, room;
	struct sums total; /* sum of the rows that match */
	uint64_t typed_allocs, typed_live_bytes; /* of these, with a type: neither label nor
						  * LEVEL_NONE */
	uint64_t value;	   /* that the rows are sorted by */
	const char *share; /* what shares are of: "of live bytes" */
	const char *by;	   /* the caller sets it, for types_fields */
	struct type_level levels[LEVELS]; /* of all blocks of the filter, matching or not */
	struct sums all_levels;
};

/* Loads the rows. `match`: pattern (text_matches()) of the type, in full or short, the container or
 * the module; NULL: all. */
SHINY_MUST_CHECK struct shiny_err *types_load(struct store *store, const struct filter *filter,
					      enum types_by by, const char *match,
					      enum sums_order order, struct types *out);
void types_deinit(struct types *types);

extern const struct field type_row_fields[], type_level_fields[]; /* of a row, of a level */
extern const struct field types_fields[];

#endif
