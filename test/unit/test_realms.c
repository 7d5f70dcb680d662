/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_realms.c: owners of graphs that a fixed generator makes, against a walk from each owner by
 * itself, the textbook's way; and again with nodes and owners in other orders.
 */
#include "../../src/base/mem.h"
#include "../../src/graph/realms.h"
#include "check.h"

enum { GRAPHS = 300, NODES = 60, OWNERS = 5 };

struct drawn_graph {
	uint32_t nodes, edges;
	uint32_t from[4 * NODES], to[4 * NODES];
	uint32_t given[NODES + 1]; /* realms that are known */
};

static uint64_t state = 1;
static uint32_t draw(uint32_t limit)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(state >> 33) % limit;
}

static void draw_graph(struct drawn_graph *g)
{
	*g = (struct drawn_graph){ .nodes = 2 + draw(NODES - 2) };
	g->edges = draw(3 * g->nodes);
	for (uint32_t e = 0; e < g->edges; e++) {
		g->from[e] = 1 + draw(g->nodes);
		g->to[e] = 1 + draw(g->nodes);
	}
	for (uint32_t i = draw(2 * OWNERS); i-- > 0;)
		g->given[1 + draw(g->nodes)] = draw(8) ? REALM_FIRST + draw(OWNERS) : REALM_COMMON;
}

/* The same graph with node n called name[n]. */
static void find(const struct drawn_graph *g, const uint32_t *name, uint32_t *realm)
{
	struct heap_graph heap = { .blocks = g->nodes, .nodes = g->nodes };

	graph_edges_begin(&heap.edges, g->nodes, g->nodes, 0, g->edges);
	for (uint32_t n = 1; n <= g->nodes; n++)
		for (uint32_t e = 0; e < g->edges; e++)
			if (name[g->from[e]] == n)
				graph_edges_add(&heap.edges, n, name[g->to[e]], 0, 0);
	graph_edges_end(&heap.edges);
	realms_find(&heap, realm);
	heap_graph_deinit(&heap);
}

static void walk(const struct drawn_graph *g, uint32_t node, bool *seen)
{
	for (uint32_t e = 0; e < g->edges; e++)
		if (g->from[e] == node && !seen[g->to[e]] && !g->given[g->to[e]]) {
			seen[g->to[e]] = true;
			walk(g, g->to[e], seen);
		}
}

static void textbook(const struct drawn_graph *g, uint32_t *realm)
{
	memcpy(realm, g->given, (NODES + 1) * sizeof(*realm));
	for (uint32_t owner = REALM_FIRST; owner < REALM_FIRST + OWNERS; owner++) {
		bool seen[NODES + 1] = { false };

		for (uint32_t n = 1; n <= g->nodes; n++)
			if (g->given[n] == owner)
				walk(g, n, seen);
		for (uint32_t n = 1; n <= g->nodes; n++)
			if (seen[n])
				realm[n] = realm[n] ? REALM_SHARED : owner;
	}
}

static void shuffle(uint32_t *names, uint32_t count)
{
	for (uint32_t n = 1; n <= count; n++)
		names[n] = n;
	for (uint32_t n = count; n > 1; n--) {
		uint32_t other = 1 + draw(n), held = names[n];

		names[n] = names[other];
		names[other] = held;
	}
}

int main(void)
{
	unsigned wrong = 0, shared = 0, owned = 0, order = 0;

	for (unsigned i = 0; i < GRAPHS; i++) {
		uint32_t expected[NODES + 1], realm[NODES + 1], names[NODES + 1];
		struct drawn_graph g;

		draw_graph(&g);
		textbook(&g, expected);
		for (uint32_t n = 1; n <= g.nodes; n++)
			realm[n] = g.given[n];
		for (uint32_t n = 1; n <= g.nodes; n++)
			names[n] = n;
		find(&g, names, realm);
		for (uint32_t n = 1; n <= g.nodes; n++) {
			wrong += realm[n] != expected[n];
			shared += realm[n] == REALM_SHARED;
			owned += realm[n] >= REALM_FIRST && !g.given[n];
		}
		for (unsigned turn = 0; turn < 5; turn++) {
			uint32_t again[NODES + 1];

			shuffle(names, g.nodes);
			for (uint32_t n = 1; n <= g.nodes; n++)
				again[names[n]] = g.given[n];
			find(&g, names, again);
			for (uint32_t n = 1; n <= g.nodes; n++)
				order += again[names[n]] != expected[n];
		}
	}
	check_that("the graphs have shared and owned nodes", shared > 500 && owned > 500);
	number("wrong by the textbook's walk from each owner", wrong, 0);
	number("wrong in other orders", order, 0);
	return failures != 0;
}
