/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites.h: blocks and bytes by call site, function, file, module or tag; and single stacks in full.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_SITES_H
#define SHINY_SITES_H

#include "../../answer/field.h"
#include "../query/filter.h"

enum sites_by { SITES_BY_LINE, SITES_BY_FUNCTION, SITES_BY_FILE, SITES_BY_MODULE, SITES_BY_TAG };

struct site_row {
	char *key;   /* the group's key, for site_stacks_load() */
	char *label;    /* the name: function, file, module, tag, or module+0xoffset */
	char *function, *file, *module; /* NULL: unknown, or not part of the grouping */
	uint32_t line;  /* 0: unknown */
	uint64_t peak_bytes; /* sum of its stacks' peaks: an upper bound */
	uint64_t stacks, types; /* stacks: 0 if not requested; types: distinct known types */
	char *type, *container, *form, *confidence; /* of more than half of the blocks: a known
						     * type; a label only if no type is known; NULL:
						     * none */
	bool or_derived;
	uint32_t stack; /* the heaviest stack in the requested order; 0: none */
	uint64_t value; /* that the rows are sorted by */
	enum sites_by by;
	bool peaks;     /* the peak is known */
	/* the caller sets them: names are not shortened; places have their directories */
	bool full, whole;
	const struct stack_source *from; /* NULL: without its stacks */
	struct sums sums;
};
struct sites {
	struct site_row *rows;
	size_t count, room;
	struct sums total;
	uint64_t value; /* that the rows are sorted by */
	const char *share; /* what shares are of: "of live bytes" */
};

/* Loads the rows. `stacks`: also fills in each row's `stacks` and `stack`, which reads every
 * stack. */
SHINY_MUST_CHECK struct shiny_err *sites_load(struct store *store, const struct filter *filter,
					      enum sites_by by, const char *match,
					      enum sums_order order, bool stacks,
					      struct sites *out);
void sites_deinit(struct sites *sites);

/* The stacks of a row, heaviest first, without those of value 0. */
struct site_stack {
	uint32_t id; /* 0: allocations without a stack */
	uint64_t value, blocks;
};
struct site_stacks {
	struct site_stack *rows; /* the caller frees them */
	size_t count, room;
};
SHINY_MUST_CHECK struct shiny_err *site_stacks_load(struct store *store,
						    const struct filter *filter, enum sites_by by,
						    const struct site_row *site,
						    enum sums_order order,
						    struct site_stacks *out);

struct stack_line {
	char *label, *file, *module;
	uint32_t line;
	bool inlined;
};
struct stack_lines {
	struct stack_line *rows;
	size_t count, room;
	uint64_t cut; /* it was cut off at so many frames; 0: it is whole */
};
/* Loads a stack's functions, innermost first, inline functions expanded. */
SHINY_MUST_CHECK struct shiny_err *stack_load(struct store *store, uint32_t stack,
					      struct stack_lines *out);
void stack_deinit(struct stack_lines *lines);
/* Puts the frames of a stack, innermost first; none for stack 0. */
SHINY_MUST_CHECK struct shiny_err *sites_json_stack(struct json *json, struct store *store,
					      const char *key, uint32_t stack);

/* The source of the rows' stacks. */
struct stack_source {
	struct store *store;
	const struct filter *filter;
	enum sites_by by;
	enum sums_order order;
	double least; /* lighter stacks are only added up */
	bool full;    /* names are not shortened */
};

extern const struct field site_row_fields[]; /* of struct site_row */
extern const struct field sites_fields[];       /* of struct sites */
extern const struct field stack_lines_fields[]; /* of struct stack_lines: its list "stack" */

#endif
