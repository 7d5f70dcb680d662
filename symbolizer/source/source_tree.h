/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_tree.h: paths of source files as a tree of directories, and which of these are components.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: about 40 bytes and its text a directory or file.
 * Threads: read-only after source_tree_settle().
 *
 * A component is what a person would call one: the first directory below where the paths begin
 * (../../net/), or the second where the first only collects others (../../third_party/skia/). A
 * file that stands in none is a component itself.
 */
#ifndef SHINY_SYM_SOURCE_TREE_H
#define SHINY_SYM_SOURCE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../src/base/hash_table.h"
#include "../../src/base/mem.h"

struct source_node {
	char *text;         /* the path; of a directory up to its / */
	uint32_t parent;
	uint32_t component; /* a node; 0: this one is above all components */
	uint32_t name;      /* where its last word begins in the text */
	uint16_t depth;
	bool is_file;
};
struct source_tree {
	VEC(struct source_node) nodes; /* 0 is the root, in front of all paths */
	struct hash_table by_text;
};

/* The node of a file. 0: there are too many. */
uint32_t source_tree_add(struct source_tree *tree, const char *path);
/* Finds the components; once, behind the last file. */
void source_tree_settle(struct source_tree *tree);
void source_tree_deinit(struct source_tree *tree);

/* The nearest node that both are, or are below. */
uint32_t source_tree_common(const struct source_tree *tree, uint32_t a, uint32_t b);
/* Is `node` it, or below it? */
bool source_tree_within(const struct source_tree *tree, uint32_t node, uint32_t above);

#endif
