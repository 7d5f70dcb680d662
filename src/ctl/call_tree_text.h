/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_tree_text.h: a call tree (call_tree.h) on the terminal, and as JSON.
 *
 * Runs: CLI. Signals: no. Allocates: yes (mem.h). Threads: one.
 */
#ifndef SHINY_CALL_TREE_TEXT_H
#define SHINY_CALL_TREE_TEXT_H

#include "../analysis/attribute/call_tree.h"
#include "ctl.h"

/* A way without branches is a column of names; shares, bytes and blocks stand where it forks. */
void call_tree_print(const struct style *style, const struct tree_node *root,
		     const struct call_tree_query *query);

/* One object a node, a parent before its children: a tree of objects would be nested deeper than
 * readers of JSON allow. */
void json_call_tree(struct json *json, const char *key, const struct tree_node *root);

#endif
