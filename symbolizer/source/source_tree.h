/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_tree.h: a tree of directories from paths of source files, and its components.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: about 40 bytes and its text a directory or file.
 * Threads: read-only after source_tree_settle().
 *
 * A component is what a person would call one: the first directory below the start of the paths
 * (../../net/), or the second if the first only collects others (../../third_party/skia/). A file
 * outside of all is a component itself.
 */
#ifndef SHINY_SYM_SOURCE_TREE_H
#define SHINY_SYM_SOURCE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../src/base/hash_table.h"
#include "../../src/base/mem.h"

struct source_node {
	char *text;         /* the path; a directory's ends with its / */
	uint32_t parent;
	uint32_t component; /* a node; 0: this one is above all components */
	uint32_t name;      /* offset of the last word in the text */
	uint16_t depth;
	bool is_file;
};
struct source_tree {
	VEC(struct source_node) nodes; /* 0 is the root, above all paths */
	struct hash_table by_text;
};

/* Returns the node of a file, added if new. 0: there are too many. */
uint32_t source_tree_add(struct source_tree *tree, const char *path);
/* Finds the components; call it once, after the last file. */
void source_tree_settle(struct source_tree *tree);
void source_tree_deinit(struct source_tree *tree);

/* Returns the nearest node that is, or is above, both. */
uint32_t source_tree_common(const struct source_tree *tree, uint32_t a, uint32_t b);
/* True if `node` is `above`, or below it. */
bool source_tree_within(const struct source_tree *tree, uint32_t node, uint32_t above);

#endif
