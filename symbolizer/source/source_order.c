/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_order.c: see source_order.h.
 *
 * Linkers write object files in sequence unless told otherwise. In Chromium 156, the functions of
 * each of 6,955 files lie in one run. Link-time optimization, an order file and splitting into hot
 * and cold code undo that, and it shows: a file's functions lie in several runs, or one function
 * names files of which the compiler inlined one into the other. Then nothing is concluded from
 * neighbours.
 *
 * Where a compiler gets several files of a directory as one (a unity build, as of Firefox and
 * WebKit), each file's functions lie in more runs, and the directories still lie in order. Then the
 * test that follows decides alone, and must be passed often; no code is placed in a file by its
 * neighbours.
 *
 * A second test leaves each file out and derives its directory from its neighbours, as is done for
 * files that no function names. If that is wrong too often, code is placed only between two
 * functions of one file.
 *
 * Some components hardly have paths: V8 names a file in 40 of its functions, and they lie in one
 * tenth of its code. But it names its own functions, "v8::Object::New". A namespace with the name
 * of one component belongs to it; such texts divide the code between two files of different
 * components. A namespace counts only if at least 95 % of its texts in placed code are in that
 * component.
 */
#include "source_order.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/base/lower_bound.h"

/* Fewer files than FILES_MIN prove nothing. Limits: runs per 100 files, functions with several
 * files per 1000, right directories per 100. */
enum { FILES_MIN = 5, RUNS_MOST = 102, SEVERAL_MOST = 1, RIGHT_LEAST = 95, SPACES_MAX = 1 << 16 };
/* Limits where only directories are in order. */
enum { TESTED_MIN = 40, UNITY_RUNS_MOST = 150, UNITY_SEVERAL_MOST = 10, UNITY_RIGHT_LEAST = 97 };

/* Consecutive functions of one file. */
struct source_run {
	uint32_t node;
	uint32_t functions;
};
typedef VEC(struct source_run) runs_t;

static bool add_files(const struct binary *file, const struct source_functions *functions,
		      struct source_order *order, uint32_t *nodes)
{
	for (size_t i = 0; i < functions->all.count; i++) {
		uint64_t at = functions->all.at[i].path;
		const char *path = at ? binary_string(file, at, SOURCE_TEXT_MAX) : NULL;

		if (!path)
			continue;
		nodes[i] = source_tree_add(&order->tree, path);
		if (!nodes[i])
			return false;
	}
	source_tree_settle(&order->tree);
	return true;
}

static void count_runs(struct source_order *order, const uint32_t *nodes, size_t count,
		       runs_t *runs)
{
	struct source_evidence *e = &order->evidence;
	uint32_t *functions = mem_zero(order->tree.nodes.count + 1, sizeof(*functions)),
		 *pieces = mem_zero(order->tree.nodes.count + 1, sizeof(*pieces));

	e->functions = count;
	for (size_t i = 0; i < count; i++) {
		if (!nodes[i]) {
			e->several++;
			continue;
		}
		functions[nodes[i]]++;
		if (runs->count && runs->at[runs->count - 1].node == nodes[i])
			continue;
		*vec_push(runs) = (struct source_run){ .node = nodes[i] };
		pieces[nodes[i]]++;
	}
	for (size_t i = 1; i < order->tree.nodes.count; i++) {
		e->files += functions[i] > 1;
		e->runs += functions[i] > 1 ? pieces[i] : 0;
	}
	free(functions);
	free(pieces);
}

/* Returns the node of code between two neighbours; 0: unknown. */
static uint32_t between(const struct source_order *order, uint32_t a, uint32_t b)
{
	const struct source_node *nodes = order->tree.nodes.at;
	uint32_t node = source_tree_common(&order->tree, a, b);

	if (order->unity && nodes[node].is_file)
		node = nodes[node].parent;
	return nodes[node].component ? node : 0;
}

static void test_directories(struct source_order *order, const runs_t *runs)
{
	struct source_evidence *e = &order->evidence;

	for (size_t i = 1; i + 1 < runs->count; i++) {
		uint32_t said =
			between(order, runs->at[i - 1].node, runs->at[i + 1].node);

		if (!said || order->tree.nodes.at[said].is_file)
			continue;
		e->tested++;
		e->right += source_tree_within(&order->tree, runs->at[i].node, said);
	}
}

/* Returns the component with the namespace's name; 0: none, or several. */
static uint32_t component_named(const struct source_tree *tree, const char *name, size_t length)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < tree->nodes.count; i++) {
		const struct source_node *node = &tree->nodes.at[i];
		const char *own = node->text + node->name;

		if (node->component != i || node->is_file || strncmp(own, name, length) != 0 ||
		    strcmp(own + length, "/") != 0)
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

/* A namespace, and how often its anchors are right in code placed without them. */
struct source_space {
	const char *name;
	size_t length;
	uint32_t node;
	uint64_t tested, right;
};
typedef VEC(struct source_space) spaces_t;

static struct source_space *space_of(const struct source_tree *tree, spaces_t *spaces,
				     const char *text)
{
	size_t length = source_text_namespace(text);
	struct source_space *space;

	for (size_t i = 0; i < spaces->count; i++)
		if (spaces->at[i].length == length &&
		    !strncmp(spaces->at[i].name, text, length))
			return &spaces->at[i];
	space = vec_push(spaces);
	*space = (struct source_space){ text, length, component_named(tree, text, length), 0, 0 };
	return space;
}

/* Returns the components of the anchors, by index; 0: not believed. */
static uint32_t *judge_anchors(const struct binary *file, const struct source_order *order,
			       const struct source_functions *functions)
{
	uint32_t *nodes = mem_zero(functions->anchors.count + 1, sizeof(*nodes));
	uint32_t *space_at = mem_zero(functions->anchors.count + 1, sizeof(*space_at));
	spaces_t spaces = { 0 };

	for (size_t i = 0; i < functions->anchors.count && spaces.count < SPACES_MAX; i++) {
		const struct source_anchor *a = &functions->anchors.at[i];
		const char *text = binary_string(file, a->text, SOURCE_TEXT_MAX);
		struct source_space *space =
			text ? space_of(&order->tree, &spaces, text) : NULL;
		uint32_t node;
		size_t span;

		if (!space || !space->node)
			continue;
		space_at[i] = (uint32_t)(space - spaces.at) + 1;
		if (!source_order_at(order, a->code, &span))
			continue;
		node = order->spans.at[span].node;
		space->tested += node != 0;
		space->right += node && order->tree.nodes.at[node].component == space->node;
	}
	for (size_t i = 0; i < functions->anchors.count; i++) {
		const struct source_space *space =
			space_at[i] ? &spaces.at[space_at[i] - 1] : NULL;

		if (space && space->right * 100 >= space->tested * RIGHT_LEAST)
			nodes[i] = space->node;
	}
	free(space_at);
	free(spaces.at);
	return nodes;
}

static void add_span(struct source_order *order, uint64_t from, uint32_t node)
{
	size_t count = order->spans.count;

	if (count && order->spans.at[count - 1].node == node)
		return;
	*vec_push(&order->spans) = (struct source_span){ from, node };
}

/* Returns the next believed anchor's component, or that of the function at `next`. */
static uint32_t component_behind(const struct source_functions *functions,
				 const uint32_t *anchor_nodes, size_t anchor, uint64_t next,
				 uint32_t next_component)
{
	for (size_t i = anchor + 1;
	     i < functions->anchors.count && functions->anchors.at[i].code < next; i++)
		if (anchor_nodes[i])
			return anchor_nodes[i];
	return next_component;
}

/* Divides the code from `end` on, between functions of two components, by its anchors. A single
 * anchor between two that agree is ignored: it may be a template's. */
static void add_spans_of_anchors(struct source_order *order,
				 const struct source_functions *functions,
				 const uint32_t *anchor_nodes, uint32_t last, uint64_t end,
				 uint64_t next, uint32_t next_node)
{
	const struct source_node *tree = order->tree.nodes.at;
	uint32_t component = tree[last].component;
	size_t i = lower_bound(functions->anchors.count, k, functions->anchors.at[k].code < end);

	for (; i < functions->anchors.count && functions->anchors.at[i].code < next; i++) {
		if (!anchor_nodes[i] ||
		    (anchor_nodes[i] != component &&
		     component_behind(functions, anchor_nodes, i, next,
				      tree[next_node].component) == component))
			continue;
		add_span(order, end, anchor_nodes[i] == component ? component : 0);
		component = anchor_nodes[i];
		end = functions->anchors.at[i].code;
	}
	add_span(order, end, tree[next_node].component == component ? component : 0);
}

/* `anchor_nodes` NULL: uses no anchors. */
static void add_spans(struct source_order *order, const struct source_functions *functions,
		      const uint32_t *nodes, const uint32_t *anchor_nodes)
{
	const struct source_evidence *e = &order->evidence;
	bool directories = e->right * 100 >= e->tested * RIGHT_LEAST;
	uint32_t last = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < functions->all.count; i++) {
		const struct source_function *f = &functions->all.at[i];

		if (!nodes[i])
			continue;
		if (last) {
			uint32_t node = between(order, last, nodes[i]);
			bool use = directories || order->tree.nodes.at[node].is_file;

			if (!node && directories && anchor_nodes)
				add_spans_of_anchors(order, functions, anchor_nodes, last, end,
						     f->low, nodes[i]);
			else
				add_span(order, end, use ? node : 0);
		}
		add_span(order, f->low, nodes[i]);
		last = nodes[i];
		end = f->high;
	}
	if (last)
		add_span(order, end, 0);
}

bool source_order_find(const struct binary *file, const struct source_functions *functions,
		       struct source_order *out)
{
	uint32_t *nodes = mem_zero(functions->all.count + 1, sizeof(*nodes));
	const struct source_evidence *e = &out->evidence;
	runs_t runs = { 0 };
	bool whole;

	*out = (struct source_order){ .holds = false };
	whole = add_files(file, functions, out, nodes);
	if (whole) {
		count_runs(out, nodes, functions->all.count, &runs);
		test_directories(out, &runs);
		out->unity = !(e->files >= FILES_MIN && e->runs * 100 <= e->files * RUNS_MOST &&
			       e->several * 1000 <= e->functions * SEVERAL_MOST);
		out->holds = !out->unity ||
			     (e->tested >= TESTED_MIN &&
			      e->right * 100 >= e->tested * UNITY_RIGHT_LEAST &&
			      e->runs * 100 <= e->files * UNITY_RUNS_MOST &&
			      e->several * 1000 <= e->functions * UNITY_SEVERAL_MOST);
		if (out->holds) {
			uint32_t *anchor_nodes;

			add_spans(out, functions, nodes, NULL);
			anchor_nodes = judge_anchors(file, out, functions);
			out->spans.count = 0;
			add_spans(out, functions, nodes, anchor_nodes);
			free(anchor_nodes);
		}
	} else {
		source_order_deinit(out);
		*out = (struct source_order){ .holds = false };
	}
	free(runs.at);
	free(nodes);
	return whole;
}

void source_order_deinit(struct source_order *order)
{
	source_tree_deinit(&order->tree);
	free(order->spans.at);
}

bool source_order_at(const struct source_order *order, uint64_t vaddr, size_t *span)
{
	size_t i = lower_bound(order->spans.count, k, order->spans.at[k].from <= vaddr);

	*span = i - 1;
	return i != 0;
}
