/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "../query/type_name.h"

ORDER_BY(by_value, struct tree_node, ORDER_LAST(folded) ?: ORDER_DOWN(value) ?: ORDER_TEXT(name))

/* The last child if it has this name (rows come sorted), else a new one. */
struct tree_node *tree_child(struct tree_node *parent, const char *name)
{
	struct tree_node *node = parent->count ? &parent->children[parent->count - 1] : NULL;

	if (node && strcmp(node->name, name) == 0)
		return node;
	node = rows_push(&parent->children, &parent->count, &parent->room, sizeof(*node));
	node->name = mem_text(name);
	return node;
}

/* Sorts the children, and folds small ones. */
static void arrange(struct tree_node *node, double least)
{
	size_t kept = 0;
	uint64_t folded = 0, sum = 0, blocks = 0;
	double variance = 0;

	for (size_t i = 0; i < node->count; i++) {
		struct tree_node *c = &node->children[i];

		arrange(c, least);
		if (!c->kept && ((double)c->value < least || !c->value)) {
			folded++;
			sum += c->value;
			variance += c->variance;
			blocks += c->blocks;
		}
	}
	/* a single small entry stays: folded it takes as many lines and says less */
	if (folded > 1 || (folded && !sum)) {
		for (size_t i = 0; i < node->count; i++) {
			if (node->children[i].kept ||
			    ((double)node->children[i].value >= least && node->children[i].value))
				node->children[kept++] = node->children[i];
			else
				tree_deinit(&node->children[i]);
		}
		node->count = kept;
		if (sum) {
			struct tree_node *rest = rows_push(&node->children, &node->count,
							   &node->room, sizeof(*rest));

			rest->folded = folded;
			rest->value = sum;
			rest->variance = variance;
			rest->blocks = blocks;
			rest->name = mem_format("<non-notable: %" PRIu64 " entries>", folded);
		}
	}
	if (node->count)
		qsort(node->children, node->count, sizeof(*node->children), by_value);
}

static void set_shares(struct tree_node *node, uint64_t total)
{
	node->share = total ? (double)node->value / (double)total : 0;
	for (size_t i = 0; i < node->count; i++)
		set_shares(&node->children[i], total);
}

void tree_arrange(struct tree_node *root, double threshold)
{
	arrange(root, threshold * (double)root->value);
	set_shares(root, root->value);
}

#define BOUND(end)                                                                   \
	static void get_value_##end(const void *row, struct field_value *out)        \
	{                                                                            \
		const struct tree_node *node = row;                                  \
                                                                                     \
		field_set_number(out, estimate_bounds(node->value, node->variance, 0).end); \
		out->absent = !(node->variance > 0);                                 \
	}
BOUND(low)
BOUND(high)

static void get_folded(const void *row, struct field_value *out)
{
	const struct tree_node *node = row;

	field_set_number(out, node->folded);
	out->absent = !node->folded;
}

/* clang-format off */
const struct field tree_value_bounds[] = {
	ESTIMATED_BOUNDS("value", COUNT, get_value), FIELD_LAST
};
const struct field tree_total_bounds[] = {
	ESTIMATED_BOUNDS("total", COUNT, get_value), FIELD_LAST
};
const struct field tree_share_fields[] = {
	{ FIELD_REAL("share", struct tree_node, share), .help = "its share of the total" },
	{ FIELD_WORKED_OUT("folded", COUNT, get_folded),
	  .help = "how many small entries stand in one; absent: it is no such" },
	FIELD_LAST
};
/* clang-format on */

enum { TREE_DEPTH = 4 };

/* Adds a value to the nodes of a path. `unit`: of the variance. */
static void add_value(struct tree_node *const path[TREE_DEPTH], uint64_t value, uint64_t variance,
		      double unit)
{
	for (unsigned i = 0; i < TREE_DEPTH; i++) {
		path[i]->value += value;
		path[i]->variance += (double)variance * unit;
	}
}

static void add_row(struct tree_node *root, const struct query *q, enum group_by by,
		    const char *leaf, const char *match, double unit)
{
	const char *path = query_text(q, 2);
	struct tree_node *nodes[TREE_DEPTH] = { root };
	char name[300];

	if (match && !text_matches(match, leaf) && !text_matches(match, query_text(q, 3)) &&
	    !text_matches(match, path))
		return;
	snprintf(name, sizeof(name), "%s, pid %" PRId64, query_text(q, 0), query_number(q, 1));
	nodes[1] = tree_child(root, name);
	nodes[2] = tree_child(nodes[1], by == GROUP_TAG ? path
					: *path		? text_base(path)
							: "(no module)");
	nodes[3] = tree_child(nodes[2], leaf);
	add_value(nodes, (uint64_t)query_number(q, 4), (uint64_t)query_number(q, 5), unit);
}

static void read_row(struct tree_node *root, const struct query *q, enum group_by by, bool typed,
		     const char *match, bool full, double unit)
{
	char *leaf = NULL;

	if (typed)
		leaf = type_name_block(&(struct type_text){
			.type = query_is_null(q, 3) ? NULL : query_text(q, 3),
			.container = query_is_null(q, 6) ? NULL : query_text(q, 6),
			.form = query_text(q, 7),
			.confidence = query_text(q, 8),
			.derived = query_number(q, 9) != 0,
			.full = full });
	add_row(root, q, by, leaf ? leaf : query_text(q, 3), match, unit);
	free(leaf);
}

static const char *const measures[] = {
	[TREE_LIVE] = "SUM(s.live_bytes), SUM(s.live_bytes_variance)",
	[TREE_BYTES] = "SUM(s.bytes), SUM(s.bytes_variance)",
	[TREE_ALLOCS] = "SUM(s.allocs), SUM(s.allocs_variance)",
	[TREE_PEAK] = "SUM(s.peak_bytes), 0", /* a bound, not an estimate */
};

double tree_variance_unit(enum tree_measure measure)
{
	return measure == TREE_ALLOCS ? 1 : ESTIMATE_BYTES_UNIT;
}

struct shiny_err *tree_load(struct store *store, const struct filter *filter,
			    enum tree_measure measure, enum group_by by, const char *match,
			    double threshold, bool full, struct tree_node *root)
{
	/* table stat has peaks by site only, not by type */
	bool typed = (by == GROUP_TYPE || by == GROUP_TAG) && measure != TREE_PEAK;
	/* columns that tell leaves of one name apart */
	static const char details[] = ", y.container, y.form, y.confidence, y.or_derived";
	const char *home = by != GROUP_TAG ? "COALESCE(m.path, '')"
			 : "COALESCE((SELECT g.name FROM tag g WHERE g.id = s.tag), '(no tag)')";
	SHINY_CLEANUP(tree_deinit) struct tree_node tree = { .name = mem_text("all processes") };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		query_format(store, &q,
			     "SELECT COALESCE(NULLIF(p.role, ''), p.name, '(unknown)') "
			     "AS who, p.pid, %s AS home, %s AS leaf, %s%s "
			     "FROM %s s LEFT JOIN process p ON p.id = s.process LEFT "
			     "JOIN site i ON i.id = s.site "
			     "LEFT JOIN module m ON m.id = i.module %s WHERE %s GROUP BY "
			     "s.process, home, leaf%s ORDER BY s.process, home, leaf%s",
			     home,
			     typed ? "y.name"
				   : "COALESCE((SELECT label || CASE WHEN function IS NULL THEN "
				     "'' ELSE COALESCE(' (' || source || ':' || NULLIF(line, 0) || "
				     "')', '') END FROM v_site_names WHERE site = i.id), "
				     "'(no stack)')",
			     measures[measure], typed ? details : "",
			     measure == TREE_PEAK ? "peak" : "site_stat",
			     typed ? "LEFT JOIN type y ON y.id = s.type"
				   : "",
			     filter_blocks(filter), typed ? details : "", typed ? details : "");

	QUERY_EACH (q, err)
		read_row(&tree, q, by, typed, match, full, tree_variance_unit(measure));
	if (err)
		return err;
	tree_arrange(&tree, threshold);
	*root = shiny_steal(tree);
	return NULL;
}

/* ---- by component ---- */

/* Makes the names of component rows. */
struct captions {
	const struct components *components;
	char **processes, **types; /* indexed by id; NULL: not in the session */
	size_t process_limit, type_limit;
};

static const char *process_caption(const struct captions *c, const struct component_row *row)
{
	const char *name = row->process < c->process_limit ? c->processes[row->process] : NULL;

	return name ? name : "(unknown)";
}

static const char *type_caption(const struct captions *c, const struct component_row *row)
{
	const char *name = row->type < c->type_limit ? c->types[row->type] : NULL;

	return name ? name : c->types[0];
}

static void set_caption(char **list, uint32_t id, char *caption)
{
	free(list[id]);
	list[id] = caption;
}

static struct shiny_err *load_captions(struct store *store, bool full, struct captions *out)
{
	struct query *q = NULL;
	struct shiny_err *err;

	out->process_limit = store_ids(store, "process");
	out->processes = mem_zero(out->process_limit, sizeof(*out->processes));
	out->type_limit = store_ids(store, "type");
	out->types = mem_zero(out->type_limit, sizeof(*out->types));
	err = store_query(
		store, "SELECT id, COALESCE(NULLIF(role, ''), name, '(unknown)'), pid FROM process",
		&q);

	QUERY_EACH (q, err)
		set_caption(out->processes, query_id(q, 0, out->process_limit),
			    mem_format("%s, pid %" PRId64, query_text(q, 1), query_number(q, 2)));
	query_end(q);
	q = NULL;
	if (!err)
		err = store_query(
			store, "SELECT id, name, container, form, confidence, or_derived FROM type",
			&q);
	QUERY_EACH (q, err)
		set_caption(out->types, query_id(q, 0, out->type_limit),
			    type_name_block(&(struct type_text){
				    .type = query_text(q, 1),
				    .container = query_is_null(q, 2) ? NULL : query_text(q, 2),
				    .form = query_text(q, 3),
				    .confidence = query_text(q, 4),
				    .derived = query_number(q, 5) != 0,
				    .full = full }));
	set_caption(out->types, 0, type_name_block(&(struct type_text){.full = full}));
	query_end(q);
	return err;
}

static void captions_deinit(struct captions *c)
{
	for (size_t i = 0; i < c->process_limit; i++)
		free(c->processes[i]);
	for (size_t i = 0; i < c->type_limit; i++)
		free(c->types[i]);
	free(c->processes);
	free(c->types);
}

/* Sorts rows of one node together. */
static int by_place(const void *left, const void *right, void *context)
{
	const struct component_row *a = left, *b = right;
	const struct captions *c = context;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return strcmp(type_caption(c, a), type_caption(c, b));
}

static void add_component_row(struct tree_node *root, const struct captions *c,
			      const struct component_row *row, const char *match, double unit)
{
	const char *component = c->components->names.at[row->name], *leaf = type_caption(c, row);
	struct tree_node *nodes[TREE_DEPTH] = { root };

	if (match && !text_matches(match, leaf) && !text_matches(match, component))
		return;
	nodes[1] = tree_child(root, process_caption(c, row));
	nodes[2] = tree_child(nodes[1], component);
	nodes[3] = tree_child(nodes[2], leaf);
	add_value(nodes, row->value, row->variance, unit);
}

struct shiny_err *tree_load_components(struct store *store, const struct filter *filter,
				       enum tree_measure measure,
				       const struct component_rules *rules, const char *match,
				       double threshold, bool full, struct tree_node *root,
				       struct components *components)
{
	static const char *const columns[] = {
		[TREE_LIVE] = "live_bytes", [TREE_BYTES] = "bytes", [TREE_ALLOCS] = "allocs"
	};
	struct tree_node tree = { .name = mem_text("all processes") };
	struct components found = { 0 };
	struct captions captions = {.components = &found};
	struct shiny_err *err = components_load(store, filter, rules, columns[measure], &found);

	if (!err)
		err = load_captions(store, full, &captions);
	if (!err && found.count)
		qsort_r(found.rows, found.count, sizeof(*found.rows), by_place, &captions);
	for (size_t i = 0; i < found.count && !err; i++)
		add_component_row(&tree, &captions, &found.rows[i], match,
				  tree_variance_unit(measure));
	captions_deinit(&captions);
	if (err) {
		components_deinit(&found);
		tree_deinit(&tree);
		return err;
	}
	tree_arrange(&tree, threshold);
	*components = found;
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
