/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_stacks.h: every call stack of a session with its allocations, function by function, inline
 * functions expanded.
 *
 * Runs: CLI. Signals: no. Allocates: what stack_paths.h says, and each name once
 * (mem.h). Threads: one a store.
 *
 * Each block is counted at exactly one stack: over all stacks the weights add up to the sums of the
 * session, whatever recurses, is inlined, or is cut off at SHINY_DEPTH frames.
 */
#ifndef SHINY_CALL_STACKS_H
#define SHINY_CALL_STACKS_H

#include "../query/filter.h"

/* The form of a function's name. */
enum call_label {
	CALL_FUNCTION, /* "parse(char const*)" */
	CALL_LINE,     /* "parse(char const*) (parser.cc:41)" */
};

struct call_stack {
	uint32_t id; /* id of table stack; 0: allocations without a stack */
	const uint32_t
		*names; /* of its functions, innermost first, for call_stacks_name() */
	size_t count;
	size_t site;	/* index of the call site's function; those before it allocate */
	bool cut;	/* its outermost callers were not recorded */
	uint64_t value; /* bytes or blocks, by the order */
	uint64_t blocks;
};

struct call_stacks;

/* Loads the names and sites. `full`: names are not shortened. */
SHINY_MUST_CHECK struct shiny_err *call_stacks_open(struct store *store, enum call_label label,
						    bool full, struct call_stacks **out);
void call_stacks_close(struct call_stacks *stacks); /* accepts NULL */
const char *call_stacks_name(const struct call_stacks *stacks, uint32_t name);
/* Returns the number of a text of the caller's; equal texts share a number. */
uint32_t call_stacks_number(struct call_stacks *stacks, const char *text);
/* Returns the text that stands for callers not recorded; the caller frees it. */
char *call_stacks_cut_name(const struct call_stacks *stacks);

/* Calls `each` for each stack with a weight, in no order. The stack is valid during the call. */
typedef void call_stack_fn(void *context, const struct call_stack *stack);
SHINY_MUST_CHECK struct shiny_err *call_stacks_each(struct call_stacks *stacks,
						    const struct filter *filter,
						    enum sums_order order, call_stack_fn *each,
						    void *context);

/* Returns the SQL of an order's value, and of the blocks with that value, over rows of table stat
 * named s. A stack has no peak and no single name: such orders give the value of ORDER_LIVE. */
const char *call_value_sql(enum sums_order order);
const char *call_blocks_sql(enum sums_order order);

#endif
