/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites.h: blocks and bytes by call site, function, file, module or tag; and single stacks in full.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_SITES_H
#define SHINY_SITES_H

#include "../query/filter.h"

enum sites_by { SITES_BY_LINE, SITES_BY_FUNCTION, SITES_BY_FILE, SITES_BY_MODULE, SITES_BY_TAG };

struct site_row {
	char *key;   /* the group: for site_stacks_load */
	char *label;    /* what to call it: function, file, module, tag, or module+0xoffset */
	char *function, *file, *module; /* NULL unknown, or not part of the grouping */
	uint32_t line;  /* 0 unknown */
	uint64_t peak_bytes; /* sum of the peaks of its stacks: an upper bound */
	uint64_t stacks, types; /* how many; stacks: 0 if not asked for; types: different ones that
	                         * are known */
	char *type, *container, *form, *confidence; /* what more than half of the blocks are: a
	                                             * known type; a label only where no type is
	                                             * known; NULL no such */
	bool or_derived;
	uint32_t stack; /* id of the stack that weighs most in the order asked for; 0 none */
	struct sums sums;
};
struct sites {
	struct site_row *rows;
	size_t count, room;
	struct sums total;
	bool peaks; /* rows' peaks are known: of an interval they are not */
};

/* `stacks`: also find `stacks` and `stack` of each row, which takes a look at every stack. */
SHINY_MUST_CHECK struct shiny_err *sites_load(struct store *store, const struct filter *filter,
					      enum sites_by by, const char *match,
					      enum sums_order order, bool stacks,
					      struct sites *out);
void sites_deinit(struct sites *sites);

/* The stacks of a row, heaviest first; those of value 0 are left out. */
struct site_stack {
	uint32_t id; /* 0: allocations without a stack */
	uint64_t value, blocks;
};
struct site_stacks {
	struct site_stack *rows; /* the caller's to free */
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
};
/* A stack's functions, innermost first, inline functions expanded. */
SHINY_MUST_CHECK struct shiny_err *stack_load(struct store *store, uint32_t stack,
					      struct stack_lines *out);
void stack_deinit(struct stack_lines *lines);

#endif
