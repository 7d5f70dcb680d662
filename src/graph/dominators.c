/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dominators.c: see dominators.h.
 *
 * Lengauer and Tarjan's algorithm (1979) in its simple form, with path compression: O(m log n) on
 * any graph, which a list of a million nodes with links back needs, and a file made to do harm.
 * Everything is numbered by the depth-first search; arrays below are by that number. No recursion:
 * the search and the compression keep their own stacks.
 */
#include "dominators.h"

#include <stdlib.h>

#include "../base/mem.h"

#define NONE DOMINATORS_NONE

struct lengauer {
	const struct heap_graph *graph;
	uint32_t *number;               /* node → number, NONE: not reached */
	uint32_t *node;                 /* number → node */
	uint32_t *parent;               /* in the search's tree */
	uint32_t *semi, *label, *above; /* above: in the compressed forest, NONE: a root */
	uint32_t *idom, *bucket, *next; /* bucket: lists of those with this semidominator */
	uint32_t *into, *from;          /* edges to t: from[into[t]] to from[into[t + 1] - 1] */
	uint32_t *path;
	uint32_t count;
};

/* Node 0 leads to every root. */
static uint32_t edge_count(const struct heap_graph *g, uint32_t node)
{
	return node ? g->first[node + 1] - g->first[node] : g->nodes - g->blocks;
}

static uint32_t edge_target(const struct heap_graph *g, uint32_t node, uint32_t edge)
{
	return node ? g->target[g->first[node] + edge] : g->blocks + 1 + edge;
}

static void search(struct lengauer *l)
{
	const struct heap_graph *g = l->graph;
	uint32_t *position = mem_zero((size_t)g->nodes + 1, sizeof(*position));
	uint32_t current = 0;

	for (uint32_t n = 0; n <= g->nodes; n++)
		l->number[n] = NONE;
	l->number[0] = 0;
	l->parent[0] = NONE;
	l->node[l->count++] = 0;
	while (current != NONE) {
		uint32_t n = l->node[current], to;

		if (position[current] == edge_count(g, n)) {
			current = l->parent[current];
			continue;
		}
		to = edge_target(g, n, position[current]++);
		if (l->number[to] != NONE)
			continue;
		l->number[to] = l->count;
		l->node[l->count] = to;
		l->parent[l->count] = current;
		current = l->count++;
	}
	free(position);
}

/* Edges between reached nodes, by target. */
static void turn_edges(struct lengauer *l)
{
	const struct heap_graph *g = l->graph;
	size_t edges = 0;

	l->into = mem_zero((size_t)l->count + 2, sizeof(*l->into));
	for (uint32_t i = 0; i < l->count; i++)
		for (uint32_t e = 0; e < edge_count(g, l->node[i]); e++, edges++)
			l->into[l->number[edge_target(g, l->node[i], e)] + 2]++;
	for (uint32_t i = 2; i < l->count + 2; i++)
		l->into[i] += l->into[i - 1];
	l->from = mem_alloc((edges + 1) * sizeof(*l->from));
	for (uint32_t i = 0; i < l->count; i++)
		for (uint32_t e = 0; e < edge_count(g, l->node[i]); e++)
			l->from[l->into[l->number[edge_target(g, l->node[i], e)] + 1]++] = i;
}

/* The node of least semidominator on the way from v up to the root of its tree. */
static uint32_t evaluate(struct lengauer *l, uint32_t v)
{
	uint32_t length = 0, at = v;

	if (l->above[v] == NONE)
		return l->label[v];
	for (; l->above[l->above[at]] != NONE; at = l->above[at])
		l->path[length++] = at;
	while (length) {
		uint32_t w = l->path[--length], up = l->above[w];

		if (l->semi[l->label[up]] < l->semi[l->label[w]])
			l->label[w] = l->label[up];
		l->above[w] = l->above[up];
	}
	return l->label[v];
}

static void find_semidominators(struct lengauer *l)
{
	for (uint32_t w = l->count - 1; w > 0; w--) {
		uint32_t p = l->parent[w];

		for (uint32_t e = l->into[w]; e < l->into[w + 1]; e++) {
			uint32_t u = evaluate(l, l->from[e]);

			if (l->semi[u] < l->semi[w])
				l->semi[w] = l->semi[u];
		}
		l->next[w] = l->bucket[l->semi[w]];
		l->bucket[l->semi[w]] = w;
		l->above[w] = p;
		for (uint32_t v = l->bucket[p]; v != NONE; v = l->next[v]) {
			uint32_t u = evaluate(l, v);

			l->idom[v] = l->semi[u] < l->semi[v] ? u : p;
		}
		l->bucket[p] = NONE;
	}
	for (uint32_t w = 1; w < l->count; w++)
		if (l->idom[w] != l->semi[w])
			l->idom[w] = l->idom[l->idom[w]];
}

void dominators_find(const struct heap_graph *graph, struct dominators *out)
{
	size_t room = (size_t)graph->nodes + 1;
	struct lengauer l = { .graph = graph };
	uint32_t **arrays[] = { &l.number, &l.node, &l.parent, &l.semi, &l.label,
				&l.above,  &l.idom, &l.bucket, &l.next, &l.path };

	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
		*arrays[i] = mem_alloc(room * sizeof(uint32_t));
	search(&l);
	turn_edges(&l);
	for (uint32_t i = 0; i < l.count; i++) {
		l.semi[i] = l.label[i] = i;
		l.above[i] = l.bucket[i] = NONE;
		l.idom[i] = 0;
	}
	find_semidominators(&l);
	out->parent = mem_alloc(room * sizeof(*out->parent));
	for (uint32_t n = 0; n <= graph->nodes; n++)
		out->parent[n] = NONE;
	for (uint32_t i = 1; i < l.count; i++)
		out->parent[l.node[i]] = l.node[l.idom[i]];
	out->order = l.node; /* a dominator has a lower number than what it dominates */
	out->reached = l.count;
	l.node = NULL;
	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
		free(*arrays[i]);
	free(l.into);
	free(l.from);
}

void dominators_deinit(struct dominators *dominators)
{
	free(dominators->parent);
	free(dominators->order);
	*dominators = (struct dominators){ 0 };
}
