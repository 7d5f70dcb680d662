/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_lines: prints a heap snapshot, for tests that know it from elsewhere. Usage: graph_lines
 * SESSION SNAPSHOT [kept | pairs | kept-pairs | retained]. Lines "block ADDRESS SIZE STACK TYPE",
 * "edge ADDRESS OFFSET ADDRESS OFFSET" from a block's word to a place in a block, and
 * "root NAME<tab>ADDRESS OFFSET"; addresses in hex. With "kept" only edges that keep a block, as
 * the questions to it count them. "pairs" sums up: "type BLOCKS NAME" and "pair EDGES
 * NAME<tab>NAME", of the types at both ends, without edges from a block to itself. "retained" reads
 * lines "NAME<tab>LABEL" of types, and prints "retained BYTES LABEL": of blocks of types with
 * labels, those that would go with all blocks of the label; bytes as of collected objects
 * (collected_bytes.h).
 *
 * Runs: CLI, in tests. Allocates: the graph. Threads: one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/texts.h"
#include "../../src/graph/dominators.h"
#include "collected_bytes.h"

static void print(const struct heap_graph *g, const struct graph_names *types)
{
	for (uint32_t n = 1; n <= g->blocks; n++)
		printf("block %" PRIx64 " %" PRIu64 " %" PRIu32 " %s\n", heap_graph_address(g, n),
		       heap_graph_bytes(g, n), heap_graph_stack(g, n),
		       types->groups.names[graph_names_find(types, g, n)]);
	for (uint32_t n = 1; n <= g->nodes; n++) {
		uint32_t place = 0;

		for (uint32_t e = heap_graph_first(g, n); e < heap_graph_first(g, n + 1); e++) {
			uint64_t to = heap_graph_address(g, heap_graph_target(g, e));

			place = graph_edges_place(&g->edges, e, place);
			if (n <= g->blocks)
				printf("edge %" PRIx64 " %u %" PRIx64 " %u\n",
				       heap_graph_address(g, n), place, to, g->edges.into[e]);
			else
				printf("root %s\t%" PRIx64 " %u\n",
				       g->roots[n - g->blocks - 1].name, to, g->edges.into[e]);
		}
	}
}

static void print_pairs(const struct heap_graph *g, const struct graph_names *types)
{
	size_t count = types->groups.count;
	uint32_t *blocks = mem_zero(count, sizeof(*blocks));
	uint32_t *pairs = mem_zero(count * count, sizeof(*pairs));
	uint32_t *of = mem_zero((size_t)g->blocks + 1, sizeof(*of));

	for (uint32_t n = 1; n <= g->blocks; n++) {
		of[n] = graph_names_find(types, g, n);
		blocks[of[n]]++;
	}
	for (uint32_t n = 1; n <= g->blocks; n++)
		for (uint32_t e = heap_graph_first(g, n); e < heap_graph_first(g, n + 1); e++) {
			uint32_t to = heap_graph_target(g, e);

			pairs[of[n] * count + of[to]] += to != n;
		}
	for (size_t i = 0; i < count; i++)
		if (blocks[i])
			printf("type %" PRIu32 " %s\n", blocks[i], types->groups.names[i]);
	for (size_t i = 0; i < count * count; i++)
		if (pairs[i])
			printf("pair %" PRIu32 " %s\t%s\n", pairs[i],
			       types->groups.names[i / count], types->groups.names[i % count]);
	free(blocks);
	free(pairs);
	free(of);
}

/* Of each group of types its label, 0 none. */
static uint32_t *read_labels(const struct graph_names *types, struct texts *labels)
{
	uint32_t *label_of = mem_zero(types->groups.count + 1, sizeof(*label_of));
	char line[1 << 16];

	while (fgets(line, sizeof(line), stdin)) {
		char *label = strchr(line, '\t');

		if (!label)
			continue;
		*label++ = '\0';
		label[strcspn(label, "\n")] = '\0';
		for (size_t i = 0; i < types->groups.count; i++)
			if (!strcmp(types->groups.names[i], line))
				label_of[i] = texts_put(labels, label) + 1;
	}
	return label_of;
}

static void print_retained(const struct heap_graph *g, const struct graph_names *types)
{
	struct texts labels = { 0 };
	uint32_t *label_of = read_labels(types, &labels);
	uint64_t *held = mem_zero((size_t)g->nodes + 1, sizeof(*held));
	uint64_t *sums = mem_zero(labels.count + 1, sizeof(*sums));
	struct dominators d;

	dominators_find(g, &d);
	for (uint32_t i = d.reached; i-- > 1;) {
		uint32_t n = d.order[i];

		if (n <= g->blocks && label_of[graph_names_find(types, g, n)])
			held[n] += collected_bytes(heap_graph_address(g, n),
						   heap_graph_bytes(g, n));
		held[d.parent[n]] += held[n];
	}
	for (uint32_t i = 1; i < d.reached; i++) {
		uint32_t n = d.order[i], above = d.parent[n], label;

		if (n > g->blocks)
			continue;
		label = label_of[graph_names_find(types, g, n)];
		while (above && (above > g->blocks ||
				 label_of[graph_names_find(types, g, above)] != label))
			above = d.parent[above];
		if (label && !above)
			sums[label - 1] += held[n];
	}
	for (size_t i = 0; i < labels.count; i++)
		printf("retained %" PRIu64 " %s\n", sums[i], labels.at[i]);
	dominators_deinit(&d);
	texts_deinit(&labels);
	free(label_of);
	free(held);
	free(sums);
}

int main(int argc, char **argv)
{
	struct heap_graph graph = { 0 };
	struct graph_names types = { 0 };
	struct type_words words = { 0 };
	struct store *store = NULL;
	struct filter all = { 0 };
	struct shiny_err *err;

	const char *mode = argc == 4 ? argv[3] : "";
	bool retained = !strcmp(mode, "retained"), pairs = strstr(mode, "pairs") != NULL;
	bool kept = retained || strstr(mode, "kept") != NULL;

	if (argc != 3 && (argc != 4 || (!kept && !pairs))) {
		fprintf(stderr, "usage: graph_lines SESSION SNAPSHOT [kept | pairs | kept-pairs | "
				"retained]\n");
		return 2;
	}
	err = store_open(argv[1], &store);
	if (!err)
		err = filter_resolve(store, NULL, &all);
	if (!err)
		err = type_words_load(store, true, &words);
	if (!err)
		err = heap_graph_load(store, &all, (uint32_t)atoi(argv[2]),
				      GRAPH_PLACES | GRAPH_INTO | (kept ? 0 : GRAPH_ENDS),
				      kept ? &words : NULL, &graph);
	if (!err)
		err = graph_names_load(store, &graph, GROUP_TYPE, true, &types);
	if (!err && retained)
		print_retained(&graph, &types);
	else if (!err && pairs)
		print_pairs(&graph, &types);
	else if (!err)
		print(&graph, &types);
	graph_names_deinit(&types);
	type_words_deinit(&words);
	heap_graph_deinit(&graph);
	filter_deinit(&all);
	store_close(store);
	if (err) {
		fprintf(stderr, "graph_lines: %s\n", err->message);
		shiny_err_free(err);
		return 4;
	}
	return fflush(stdout) == 0 ? 0 : 4;
}
