/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_stacks.h: every call stack of a session with what was allocated through it, function by
 * function, inline functions expanded.
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

/* The name of a frame's function. */
enum call_label {
	CALL_FUNCTION, /* "parse(char const*)" */
	CALL_LINE,     /* "parse(char const*) (parser.cc:41)" */
};

struct call_stack {
	uint32_t id; /* stack.id, 0: allocations without a stack */
	const uint32_t
		*names; /* of its functions, innermost first: indexes for call_stacks_name() */
	size_t count;
	size_t site;	/* the index of the call site's function: those in front of it allocate */
	bool cut;	/* it has as many frames as were kept: its outermost callers are missing */
	uint64_t value; /* as the order says: bytes, blocks */
	uint64_t blocks;
};

struct call_stacks;

/* `full`: names are not shortened. */
SHINY_MUST_CHECK struct shiny_err *call_stacks_open(struct store *store, enum call_label label,
						    bool full, struct call_stacks **out);
void call_stacks_close(struct call_stacks *stacks); /* accepts NULL */
const char *call_stacks_name(const struct call_stacks *stacks, uint32_t name);
/* The number for a text of the caller's own; the same text has the same number. */
uint32_t call_stacks_number(struct call_stacks *stacks, const char *text);
/* The text for callers that were not kept; free it. */
char *call_stacks_cut_name(const struct call_stacks *stacks);

/* Calls `each` for each stack with a weight, in no order. What it is given is valid until it
 * returns. */
typedef void call_stack_fn(void *context, const struct call_stack *stack);
SHINY_MUST_CHECK struct shiny_err *call_stacks_each(struct call_stacks *stacks,
						    const struct filter *filter,
						    enum sums_order order, call_stack_fn *each,
						    void *context);

/* What an order sums over rows of table stat named s: its value, and the blocks that it is of. A
 * stack has neither a peak nor one name: for these, as ORDER_LIVE. */
const char *call_value_sql(enum sums_order order);
const char *call_blocks_sql(enum sums_order order);

#endif
