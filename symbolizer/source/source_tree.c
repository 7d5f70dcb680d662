/* SPDX-License-Identifier: Apache-2.0 */
/* source_tree.c: see source_tree.h. */
#include "source_tree.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/base/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { NODES_MAX = 1 << 20, DEPTH_MAX = 64 };

/* Returns the node of the first `length` bytes of a path, added if new. 0: there are too many. */
static uint32_t node_of(struct source_tree *tree, const char *path, size_t length, uint32_t parent,
			size_t name)
{
	uint64_t hash = XXH3_64bits(path, length);
	uint32_t at = hash_table_find(&tree->by_text, hash, i,
				      !strncmp(tree->nodes.at[i].text, path, length) &&
					      !tree->nodes.at[i].text[length]);
	struct source_node *node;

	if (at != HASH_NONE)
		return at;
	if (tree->nodes.count >= NODES_MAX || tree->nodes.at[parent].depth == DEPTH_MAX)
		return 0;
	at = (uint32_t)tree->nodes.count;
	node = vec_push(&tree->nodes);
	*node = (struct source_node){ .text = mem_alloc(length + 1),
				      .parent = parent,
				      .name = (uint32_t)name,
				      .depth = (uint16_t)(tree->nodes.at[parent].depth + 1),
				      .is_file = length && path[length - 1] != '/' };
	memcpy(node->text, path, length);
	node->text[length] = '\0';
	hash_table_add(&tree->by_text, hash, at);
	return at;
}

uint32_t source_tree_add(struct source_tree *tree, const char *path)
{
	const char *from = path, *slash;
	uint32_t node = 0;

	if (!tree->nodes.count)
		*vec_push(&tree->nodes) = (struct source_node){ .text = mem_text("") };
	for (; (slash = strchr(from, '/')); from = slash + 1) {
		node = node_of(tree, path, (size_t)(slash + 1 - path), node,
			       (size_t)(from - path));
		if (!node)
			return 0;
	}
	return node_of(tree, path, strlen(path), node, (size_t)(from - path));
}

void source_tree_deinit(struct source_tree *tree)
{
	for (size_t i = 0; i < tree->nodes.count; i++)
		free(tree->nodes.at[i].text);
	free(tree->nodes.at);
	hash_table_deinit(&tree->by_text);
}

/* ---- components ---- */

static bool is_absolute(const struct source_node *node)
{
	return node->text[0] == '/';
}

/* True for directories that collect components, and are none. */
static bool collects(const struct source_node *node)
{
	static const char *const names[] = { "./", "../", "gen/", "src/", "source/", "Source/",
					     "third_party/", "components/", "deps/", "external/",
					     "vendor/", "libs/", "lib/" };
	const char *name = node->text + node->name;

	return TEXT_IS_ONE_OF(name, names);
}

void source_tree_settle(struct source_tree *tree)
{
	uint32_t base = UINT32_MAX; /* the common directory of all absolute paths */

	for (uint32_t i = 1; i < tree->nodes.count; i++)
		if (tree->nodes.at[i].is_file && is_absolute(&tree->nodes.at[i]))
			base = base == UINT32_MAX ? tree->nodes.at[i].parent
						  : source_tree_common(tree, base, i);
	/* a node follows its parent */
	for (uint32_t i = 1; i < tree->nodes.count; i++) {
		struct source_node *node = &tree->nodes.at[i];
		bool above = is_absolute(node) && source_tree_within(tree, base, i);

		node->component = tree->nodes.at[node->parent].component;
		if (!node->component && !above && (node->is_file || !collects(node)))
			node->component = i;
	}
}

uint32_t source_tree_common(const struct source_tree *tree, uint32_t a, uint32_t b)
{
	while (a != b) {
		if (tree->nodes.at[a].depth >= tree->nodes.at[b].depth)
			a = tree->nodes.at[a].parent;
		else
			b = tree->nodes.at[b].parent;
	}
	return a;
}

bool source_tree_within(const struct source_tree *tree, uint32_t node, uint32_t above)
{
	while (tree->nodes.at[node].depth > tree->nodes.at[above].depth)
		node = tree->nodes.at[node].parent;
	return node == above;
}
