/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h: adds up one measure of a session as a tree: process, module of the call site, type or
 * site; or process, component or tag, type.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_TREE_H
#define SHINY_TREE_H

#include "component.h"
#include "groups.h"
#include "../../answer/estimated.h"
#include "../../answer/field.h"
#include "../query/filter.h"

enum tree_measure { TREE_LIVE, TREE_BYTES, TREE_ALLOCS, TREE_PEAK, TREE_RESIDENT /* memory.h */ };

/* A node's value is the sum of its children's values, where it has children; so is its variance. */
struct tree_node {
	char *name;
	uint64_t value;
	double variance; /* of its error, in its unit squared; 0: it is exact */
	uint64_t blocks; /* call trees: number of blocks with this value; else 0 */
	uint64_t folded; /* number of small entries in this node; 0: not folded */
	double share;    /* of the root's value */
	bool kept;       /* never folded */
	struct tree_node *children;
	size_t count, room;
};

/*
 * Loads the tree of any `by` but GROUP_COMPONENT. Children are sorted, largest first; those below
 * `threshold` (a share of the total, 0..1) are folded into one. `full`: type names are not
 * shortened.
 */
SHINY_MUST_CHECK struct shiny_err *tree_load(struct store *store, const struct filter *filter,
					     enum tree_measure measure, enum group_by by,
					     const char *match, double threshold, bool full,
					     struct tree_node *root);
/* Loads the tree by component, and the components themselves. Not for TREE_PEAK: peaks are kept by
 * site, not by stack. */
SHINY_MUST_CHECK struct shiny_err *tree_load_components(
	struct store *store, const struct filter *filter, enum tree_measure measure,
	const struct component_rules *rules, const char *match, double threshold, bool full,
	struct tree_node *root, struct components *components);
void tree_deinit(struct tree_node *root);

/* Returns the unit of a measure's variances in a session, in the measure's own unit squared. */
double tree_variance_unit(enum tree_measure measure);

/* For other trees. tree_child() returns the last child if it has this name, else a new one.
 * tree_arrange() sorts, and folds values below `threshold`, a share of the root's value. */
struct tree_node *tree_child(struct tree_node *parent, const char *name);
void tree_arrange(struct tree_node *root, double threshold);

extern const struct field tree_value_bounds[]; /* the ends of its value's interval */
extern const struct field tree_total_bounds[]; /* of the root: the same, by another name */
extern const struct field tree_share_fields[]; /* of struct tree_node: its share and `folded` */

#endif
