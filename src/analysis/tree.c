/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "type_name.h"

static int by_value(const void *left, const void *right)
{
	const struct tree_node *a = left, *b = right;

	if (!a->folded != !b->folded)
		return a->folded ? 1 : -1;
	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* The last child if it has this name (rows come sorted), else a new one; NULL without memory. */
static struct tree_node *child(struct tree_node *parent, const char *name)
{
	struct tree_node *node = parent->count ? &parent->children[parent->count - 1] : NULL;

	if (node && strcmp(node->name, name) == 0)
		return node;
	node = rows_push(&parent->children, &parent->count, &parent->room, sizeof *node);
	if (!node)
		return NULL;
	node->name = strdup(name);
	if (!node->name)
		parent->count--;
	return node->name ? node : NULL;
}

/* Sorts, and folds what is small; returns false without memory. */
static bool arrange(struct tree_node *node, double least)
{
	size_t kept = 0;
	uint64_t folded = 0, sum = 0;

	for (size_t i = 0; i < node->count; i++) {
		struct tree_node *c = &node->children[i];

		if (!arrange(c, least))
			return false;
		if ((double)c->value < least || !c->value) {
			folded++;
			sum += c->value;
		}
	}
	/* one small entry alone is shown: a fold of one says less in as many lines */
	if (folded > 1 || (folded && !sum)) {
		for (size_t i = 0; i < node->count; i++) {
			if ((double)node->children[i].value >= least && node->children[i].value)
				node->children[kept++] = node->children[i];
			else
				tree_deinit(&node->children[i]);
		}
		node->count = kept;
		if (sum) {
			struct tree_node *rest = rows_push(&node->children, &node->count, &node->room, sizeof *rest);

			if (!rest)
				return false;
			rest->folded = folded;
			rest->value = sum;
			if (asprintf(&rest->name, "<non-notable: %" PRIu64 " entries>", folded) < 0) {
				rest->name = NULL;
				return false;
			}
		}
	}
	if (node->count)
		qsort(node->children, node->count, sizeof *node->children, by_value);
	return true;
}

static struct shiny_err *add_row(struct tree_node *root, const struct query *q, const char *leaf, const char *match)
{
	const char *path = query_text(q, 2);
	uint64_t value = (uint64_t)query_number(q, 4);
	struct tree_node *process, *module, *last;
	char name[300];

	if (match && !text_matches(match, leaf) && !text_matches(match, query_text(q, 3)) && !text_matches(match, path))
		return NULL;
	snprintf(name, sizeof name, "%s, pid %" PRId64, query_text(q, 0), query_number(q, 1));
	process = child(root, name);
	module = process ? child(process, *path ? text_base(path) : "(no module)") : NULL;
	last = module ? child(module, leaf) : NULL;
	if (!last)
		return SHINY_NO_MEMORY;
	root->value += value;
	process->value += value;
	module->value += value;
	last->value += value;
	return NULL;
}

static struct shiny_err *read_row(struct tree_node *root, const struct query *q, bool typed, const char *match, bool full)
{
	char *leaf = NULL;
	struct shiny_err *err;

	if (typed)
		leaf = type_name_block(&(struct type_text){.type = query_is_null(q, 3) ? NULL : query_text(q, 3),
			.container = query_is_null(q, 5) ? NULL : query_text(q, 5), .form = query_text(q, 6), .confidence = query_text(q, 7),
			.derived = query_number(q, 8) != 0, .full = full});
	err = add_row(root, q, leaf ? leaf : query_text(q, 3), match);
	free(leaf);
	return err;
}

static const char *const measures[] = {
	[TREE_LIVE] = "SUM(s.live_bytes)", [TREE_BYTES] = "SUM(s.bytes)", [TREE_ALLOCS] = "SUM(s.allocs)", [TREE_PEAK] = "SUM(s.peak_bytes)",
};

struct shiny_err *tree_load(struct store *store, const struct scope *scope, enum tree_measure measure, enum tree_by by, const char *match,
			    double threshold, bool full, struct tree_node *root)
{
	/* peaks are known a site, not a type */
	bool typed = by == TREE_BY_TYPE && measure != TREE_PEAK;
	static const char details[] = ", y.container, y.form, y.confidence, y.or_derived"; /* what makes leaves of one name different */
	struct tree_node tree = {.name = strdup("all processes")};
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = !tree.name ? SHINY_NO_MEMORY : query_format(store, &q,
		"SELECT COALESCE(NULLIF(p.role, ''), p.name, '(unknown)') AS who, p.pid, COALESCE(m.path, '') AS home, %s AS leaf, %s%s "
		"FROM %s s LEFT JOIN process p ON p.id = s.process LEFT JOIN site i ON i.id = s.site "
		"LEFT JOIN module m ON m.id = i.module %s WHERE %s GROUP BY s.process, home, leaf%s ORDER BY s.process, home, leaf%s",
		typed ? "y.name"
		      : "CASE WHEN i.id IS NULL THEN '(no stack)' ELSE COALESCE(n.name || COALESCE(' (' || o.path || ':' || i.line || ')', ''), "
			"'+0x' || printf('%x', f.vaddr)) END",
		measures[measure], typed ? details : "", measure == TREE_PEAK ? "peak" : "site_stat",
		typed ? "LEFT JOIN type y ON y.id = s.type"
		      : "LEFT JOIN function n ON n.id = i.function LEFT JOIN source o ON o.id = i.source LEFT JOIN frame f ON f.id = i.frame",
		scope->where, typed ? details : "", typed ? details : "");

	while (!err && !(err = query_step(q, &row)) && row)
		err = read_row(&tree, q, typed, match, full);
	query_end(q);
	if (!err && !arrange(&tree, threshold * (double)tree.value))
		err = SHINY_NO_MEMORY;
	if (err) {
		tree_deinit(&tree);
		return err;
	}
	*root = tree;
	return NULL;
}

void tree_deinit(struct tree_node *root)
{
	for (size_t i = 0; i < root->count; i++)
		tree_deinit(&root->children[i]);
	free(root->children);
	free(root->name);
}
