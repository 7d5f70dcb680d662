/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dominators.c: see dominators.h.
 *
 * Lengauer and Tarjan's algorithm (1979) in its simple form, with path compression: O(m log n) on
 * any graph, which a list of a million nodes with links back needs, and a file made to do harm.
 * Everything is numbered by the depth-first search; arrays below are by that number. No recursion:
 * the search and the compression keep their own stacks.
 *
 * Memory is what a snapshot of ten million blocks lacks, so:
 * - The algorithm takes nodes in falling order, and needs the edges that lead to each. Reversing
 *   all edges would be a second copy of the graph, so a pass reverses only those that lead to the
 *   next numbers, an eighth of all (SLICES). This costs eight passes and half a byte an edge.
 * - Nodes from `linked` on are in the compressed forest, those below are not yet. An array serves
 *   both where their times do not overlap, and means something else for each.
 */
#include "dominators.h"

#include <stdlib.h>

#include "../base/mem.h"

#define NONE DOMINATORS_NONE

enum { SLICES = 8 };

struct lengauer {
	const struct heap_graph *graph;
	uint32_t *number; /* node → number, NONE: not reached */
	uint32_t *above;  /* not linked: parent in the search's tree; linked: in the forest */
	uint32_t *semi;   /* not linked: itself */
	union {
		uint32_t *label;  /* linked */
		uint32_t *bucket; /* not linked: the first linked node with this semidominator */
	};
	union {
		uint32_t *idom;  /* set when its bucket is emptied */
		uint32_t *next;  /* next node in the same bucket */
		uint32_t *edges; /* not linked: number of edges to it, or their end in from[] */
	};
	uint32_t *from; /* sources of the edges to the slice's nodes */
	size_t edge_count;
	uint32_t count, linked, slice; /* slice: its lowest number */
	VEC(uint32_t) path;
};

/* Node 0 leads to every root. */
static uint32_t edge_count(const struct heap_graph *g, uint32_t node)
{
	return node ? heap_graph_first(g, node + 1) - heap_graph_first(g, node)
		    : g->nodes - g->blocks;
}

static uint32_t edge_target(const struct heap_graph *g, uint32_t node, uint32_t edge)
{
	return node ? heap_graph_target(g, heap_graph_first(g, node) + edge)
		    : g->blocks + 1 + edge;
}

static uint32_t *make_array(const struct heap_graph *g)
{
	return mem_alloc(((size_t)g->nodes + 1) * sizeof(uint32_t));
}

static void search(struct lengauer *l)
{
	const struct heap_graph *g = l->graph;
	uint32_t *position = mem_zero((size_t)g->nodes + 1, sizeof(*position));
	uint32_t *node = make_array(g); /* number → node */
	uint32_t current = 0;

	l->number = make_array(g);
	l->above = make_array(g);
	for (uint32_t n = 0; n <= g->nodes; n++)
		l->number[n] = NONE;
	l->number[0] = node[0] = 0;
	l->above[0] = NONE;
	l->count = 1;
	while (current != NONE) {
		uint32_t n = node[current], to;

		if (position[current] == edge_count(g, n)) {
			current = l->above[current];
			continue;
		}
		to = edge_target(g, n, position[current]++);
		if (l->number[to] != NONE)
			continue;
		l->number[to] = l->count;
		node[l->count] = to;
		l->above[l->count] = current;
		current = l->count++;
	}
	free(node);
	free(position);
}

static void count_edges(struct lengauer *l)
{
	const struct heap_graph *g = l->graph;

	for (uint32_t n = 0; n <= g->nodes; n++) {
		uint32_t edges = l->number[n] == NONE ? 0 : edge_count(g, n);

		for (uint32_t e = 0; e < edges; e++)
			l->edges[l->number[edge_target(g, n, e)]]++;
		l->edge_count += edges;
	}
}

/* Reverses the edges to the numbers below `high`, as many as a slice has room for. */
static void turn_slice(struct lengauer *l, uint32_t high)
{
	const struct heap_graph *g = l->graph;
	size_t room = l->edge_count / SLICES + 1, count = l->edges[high - 1];
	uint32_t low = high - 1, at = 0;

	while (low > 1 && count + l->edges[low - 1] <= room)
		count += l->edges[--low];
	for (uint32_t i = low; i < high; i++) {
		uint32_t edges = l->edges[i];

		l->edges[i] = at;
		at += edges;
	}
	free(l->from);
	l->from = mem_alloc((count + 1) * sizeof(*l->from));
	l->slice = low;
	for (uint32_t n = 0; n <= g->nodes; n++) {
		uint32_t edges = l->number[n] == NONE ? 0 : edge_count(g, n);

		for (uint32_t e = 0; e < edges; e++) {
			uint32_t to = l->number[edge_target(g, n, e)];

			if (to - low < high - low)
				l->from[l->edges[to]++] = l->number[n];
		}
	}
}

/* Returns the node of least semidominator on the way from v up to the root of its tree. */
static uint32_t evaluate(struct lengauer *l, uint32_t v)
{
	uint32_t at = v;

	if (v < l->linked)
		return v;
	for (; l->above[at] >= l->linked; at = l->above[at])
		*vec_push(&l->path) = at;
	while (l->path.count) {
		uint32_t w = l->path.at[--l->path.count], up = l->above[w];

		if (l->semi[l->label[up]] < l->semi[l->label[w]])
			l->label[w] = l->label[up];
		l->above[w] = l->above[up];
	}
	return l->label[v];
}

static void find_semidominator(struct lengauer *l, uint32_t w)
{
	uint32_t begin = w == l->slice ? 0 : l->edges[w - 1];

	for (uint32_t e = begin; e < l->edges[w]; e++) {
		uint32_t u = evaluate(l, l->from[e]);

		if (l->semi[u] < l->semi[w])
			l->semi[w] = l->semi[u];
	}
}

/* Sets idom of the nodes whose semidominator is p; the last linked node is a child of p. */
static void empty_bucket(struct lengauer *l, uint32_t p)
{
	for (uint32_t v = l->bucket[p], next; v != NONE; v = next) {
		uint32_t u = evaluate(l, v);

		next = l->next[v];
		l->idom[v] = l->semi[u] < l->semi[v] ? u : p;
	}
	l->bucket[p] = NONE;
}

static void find_immediate(struct lengauer *l)
{
	l->linked = l->slice = l->count;
	for (uint32_t w = l->count - 1; w > 0; w--) {
		if (w < l->slice)
			turn_slice(l, w + 1);
		find_semidominator(l, w);
		l->next[w] = l->bucket[l->semi[w]];
		l->bucket[l->semi[w]] = w;
		l->linked = w; /* w's own bucket is empty: its last child emptied it */
		l->label[w] = w;
		empty_bucket(l, l->above[w]);
	}
	l->idom[0] = 0;
	for (uint32_t w = 1; w < l->count; w++)
		if (l->idom[w] != l->semi[w])
			l->idom[w] = l->idom[l->idom[w]];
}

static void write_tree(const struct lengauer *l, struct dominators *out)
{
	const struct heap_graph *g = l->graph;

	out->parent = make_array(g);
	out->order = make_array(g); /* a dominator has a lower number than what it dominates */
	out->reached = l->count;
	for (uint32_t n = 0; n <= g->nodes; n++) {
		out->parent[n] = NONE;
		if (l->number[n] != NONE)
			out->order[l->number[n]] = n;
	}
	for (uint32_t i = 1; i < l->count; i++)
		out->parent[out->order[i]] = out->order[l->idom[i]];
}

void dominators_find(const struct heap_graph *graph, struct dominators *out)
{
	struct lengauer l = { .graph = graph };

	search(&l);
	l.semi = make_array(graph);
	l.bucket = make_array(graph);
	l.edges = mem_zero((size_t)graph->nodes + 1, sizeof(*l.edges));
	for (uint32_t i = 0; i < l.count; i++) {
		l.semi[i] = i;
		l.bucket[i] = NONE;
	}
	count_edges(&l);
	find_immediate(&l);
	free(l.from);
	free(l.path.at);
	free(l.above);
	free(l.semi);
	free(l.bucket);
	write_tree(&l, out);
	free(l.number);
	free(l.idom);
}

void dominators_deinit(struct dominators *dominators)
{
	free(dominators->parent);
	free(dominators->order);
	*dominators = (struct dominators){ 0 };
}
