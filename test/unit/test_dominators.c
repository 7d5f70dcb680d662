/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dominators.c: dominators of graphs that a fixed generator makes, against what cannot be
 * reached once a node is taken out, which is the definition; and a long list with links back.
 */
#include "../../src/graph/dominators.h"
#include "check.h"

enum { GRAPHS = 400, NODES = 40, LIST = 200000 };

struct drawn_graph {
	uint32_t blocks, roots, edges;
	uint32_t from[4 * NODES], to[4 * NODES];
};

static uint64_t state = 1;
static uint32_t draw(uint32_t limit)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(state >> 33) % limit;
}

static void draw_graph(struct drawn_graph *g)
{
	*g = (struct drawn_graph){ .blocks = 1 + draw(NODES - 4), .roots = 1 + draw(3) };
	g->edges = draw(3 * (g->blocks + g->roots));
	for (uint32_t e = 0; e < g->edges; e++) {
		g->from[e] = 1 + draw(g->blocks + g->roots);
		g->to[e] = 1 + draw(g->blocks);
	}
}

static void make(const struct drawn_graph *g, struct heap_graph *out)
{
	*out = (struct heap_graph){ .blocks = g->blocks, .nodes = g->blocks + g->roots };
	graph_edges_begin(&out->edges, g->blocks, out->nodes, 0, 0);
	for (uint32_t n = 1; n <= out->nodes; n++)
		for (uint32_t e = 0; e < g->edges; e++)
			if (g->from[e] == n)
				graph_edges_add(&out->edges, n, g->to[e], 0, 0);
	graph_edges_end(&out->edges);
}

/* What is reached where node `without` is none. */
static void reach(const struct drawn_graph *g, uint32_t without, bool *reached)
{
	bool more = true;

	memset(reached, 0, NODES + 1);
	for (uint32_t n = g->blocks + 1; n <= g->blocks + g->roots; n++)
		reached[n] = n != without;
	while (more) {
		more = false;
		for (uint32_t e = 0; e < g->edges; e++)
			if (reached[g->from[e]] && !reached[g->to[e]] && g->to[e] != without)
				reached[g->to[e]] = more = true;
	}
}

static bool is_above(const struct dominators *d, uint32_t above, uint32_t node)
{
	while (node != DOMINATORS_NONE && node != above)
		node = d->parent[node];
	return node == above;
}

/* Pairs of nodes about which the tree and the definition say different things. */
static unsigned count_wrong(const struct drawn_graph *g, const struct dominators *d)
{
	bool all[NODES + 1], without[NODES + 1];
	unsigned wrong = 0, count = 1;

	reach(g, 0, all);
	for (uint32_t n = 1; n <= g->blocks + g->roots; n++) {
		count += all[n];
		wrong += (d->parent[n] == DOMINATORS_NONE) == all[n];
		reach(g, n, without);
		for (uint32_t k = 1; k <= g->blocks + g->roots; k++)
			wrong += k != n && all[k] && without[k] == is_above(d, n, k);
	}
	return wrong + (d->reached != count);
}

/* Places at which a node comes before its dominator. */
static unsigned count_disordered(const struct heap_graph *g, const struct dominators *d)
{
	bool *seen = mem_zero((size_t)g->nodes + 1, sizeof(*seen));
	unsigned wrong = d->order[0] != 0;

	for (uint32_t i = 0; i < d->reached; i++) {
		wrong += i && !seen[d->parent[d->order[i]]];
		seen[d->order[i]] = true;
	}
	free(seen);
	return wrong;
}

/* A list of nodes that all point back to the first one and to the one before. */
static unsigned wrong_in_list(void)
{
	struct heap_graph g = { .blocks = LIST, .nodes = LIST + 1 };
	struct dominators d;
	unsigned wrong = 0;

	graph_edges_begin(&g.edges, g.blocks, g.nodes, 0, 0);
	for (uint32_t n = 1; n <= LIST; n++) {
		graph_edges_add(&g.edges, n, 1, 0, 0);
		graph_edges_add(&g.edges, n, n > 1 ? n - 1 : 1, 0, 0);
		graph_edges_add(&g.edges, n, n < LIST ? n + 1 : 1, 0, 0);
	}
	graph_edges_add(&g.edges, LIST + 1, 1, 0, 0);
	graph_edges_end(&g.edges);
	dominators_find(&g, &d);
	for (uint32_t n = 1; n <= LIST; n++)
		wrong += d.parent[n] != (n > 1 ? n - 1 : LIST + 1);
	dominators_deinit(&d);
	heap_graph_deinit(&g);
	return wrong;
}

int main(void)
{
	unsigned wrong = 0, disordered = 0, deep = 0;

	for (unsigned i = 0; i < GRAPHS; i++) {
		struct drawn_graph drawn;
		struct heap_graph g;
		struct dominators d;

		draw_graph(&drawn);
		make(&drawn, &g);
		dominators_find(&g, &d);
		wrong += count_wrong(&drawn, &d);
		disordered += count_disordered(&g, &d);
		for (uint32_t n = 1; n <= drawn.blocks; n++)
			deep += d.parent[n] && d.parent[n] <= drawn.blocks;
		dominators_deinit(&d);
		heap_graph_deinit(&g);
	}
	check_that("the graphs have blocks that blocks dominate", deep > GRAPHS);
	number("wrong by what is reached without a node", wrong, 0);
	number("before their dominators", disordered, 0);
	number("wrong in a long list", wrong_in_list(), 0);
	return failures != 0;
}
