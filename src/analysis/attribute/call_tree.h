/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_tree.h: all call stacks as one tree: from the call sites to their callers, or from the
 * outermost functions to what they call. Folded lines are an export (src/view).
 *
 * Runs: CLI. Signals: no. Allocates: yes (mem.h), 32 bytes a node before small ones are folded.
 * Threads: one a store.
 *
 * A node is a way from the root, not a function: a function that recurses is below itself, and no
 * block counts twice. The value of a node is the sum of its children's; if some stacks end at a
 * node and others go on, a child in angle brackets has those that end. The root's value is the
 * total.
 */
#ifndef SHINY_CALL_TREE_H
#define SHINY_CALL_TREE_H

#include "call_stacks.h"
#include "tree.h"

enum call_direction {
	CALLS_CALLERS, /* bottom-up: the call sites, below each its callers */
	CALLS_CALLEES, /* top-down: the outermost functions, below each what it calls */
};

struct call_tree_query {
	enum call_direction direction;
	enum call_label label;
	enum sums_order order; /* selects the values; not ORDER_PEAK */
	const char *match;     /* only stacks with a function that matches; NULL: all */
	double threshold;      /* a share of the total; smaller nodes are folded */
	bool wrappers;	       /* with the functions between the call site and the allocation */
	bool full;	       /* names are not shortened */
};

SHINY_MUST_CHECK struct shiny_err *call_tree_load(struct store *store, const struct filter *filter,
						  const struct call_tree_query *query,
						  struct tree_node *root);

#endif
