/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_tree_text.h: a call tree (call_tree.h) on the terminal.
 *
 * Runs: CLI. Signals: no. Allocates: yes (mem.h). Threads: one.
 */
#ifndef SHINY_CALL_TREE_TEXT_H
#define SHINY_CALL_TREE_TEXT_H

#include "../../analysis/attribute/call_tree.h"
#include "../ctl.h"

/* Prints the tree. A way without branches is a column of names; forks show shares, bytes and
 * blocks. */
void call_tree_print(const struct style *style, const struct tree_node *root,
		     const struct call_tree_query *query);

#endif
