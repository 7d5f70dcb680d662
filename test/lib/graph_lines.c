/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_lines: prints a heap snapshot, for tests that know it from elsewhere. Usage: graph_lines
 * SESSION SNAPSHOT. Lines "block ADDRESS SIZE STACK", "edge ADDRESS OFFSET ADDRESS OFFSET" from a
 * block's word to a place in a block, and "root NAME<tab>ADDRESS OFFSET"; addresses in hex.
 *
 * Runs: CLI, in tests. Allocates: the graph. Threads: one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/graph/heap_graph.h"

static void print(const struct heap_graph *g)
{
	for (uint32_t n = 1; n <= g->blocks; n++)
		printf("block %" PRIx64 " %" PRIu64 " %" PRIu32 "\n", g->block[n].address,
		       g->block[n].size, g->block[n].stack);
	for (uint32_t n = 1; n <= g->nodes; n++)
		for (uint32_t e = g->first[n]; e < g->first[n + 1]; e++) {
			uint64_t to = g->block[g->target[e]].address;

			if (n <= g->blocks)
				printf("edge %" PRIx64 " %u %" PRIx64 " %u\n", g->block[n].address,
				       g->at[e], to, g->into[e]);
			else
				printf("root %s\t%" PRIx64 " %u\n",
				       g->roots[n - g->blocks - 1].name, to, g->into[e]);
		}
}

int main(int argc, char **argv)
{
	struct heap_graph graph = { 0 };
	struct store *store = NULL;
	struct filter all = { 0 };
	struct shiny_err *err;

	if (argc != 3) {
		fprintf(stderr, "usage: graph_lines SESSION SNAPSHOT\n");
		return 2;
	}
	err = store_open(argv[1], &store);
	if (!err)
		err = filter_resolve(store, NULL, &all);
	if (!err)
		err = heap_graph_load(store, &all, (uint32_t)atoi(argv[2]),
				      GRAPH_PLACES | GRAPH_ENDS, NULL, &graph);
	if (!err)
		print(&graph);
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
