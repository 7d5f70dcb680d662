/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_tree.h: the stacks of a page's samples as a tree, callers outside, as columns of JSON.
 *
 * Runs: CLI. Signals: no. Allocates: 16 bytes a node, 4 a function. Threads: one a store.
 *
 * Columns: sample_node, of each sample its innermost function's node, 0 without a stack;
 * node_parent and node_line, of each node, [0] the root; lines, of each six numbers: function,
 * file, line, library, what it shares with neighbours that have no name, and component; the last is
 * of `components`, the others but the line are of `texts`. The library is "" of a frame in a
 * program's own file. A stack that was cut off begins with a function that says so.
 */
#ifndef SHINY_PAGE_TREE_H
#define SHINY_PAGE_TREE_H

#include "page_data.h"

SHINY_MUST_CHECK struct shiny_err *page_tree_put(struct json *json, struct store *store,
						 const struct profile *profile,
						 const struct page_samples *samples);

#endif
