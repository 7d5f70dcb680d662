/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dominators.h: of each node of a heap graph, the node without which no root would reach it.
 *
 * Runs: CLI. Signals: no. Allocates: 20 bytes a node and half a byte an edge while it works, 8 a
 * node after. Threads: any.
 *
 * Node 0 stands above all roots. The immediate dominator of a block is the last node that all ways
 * from 0 to it pass; the tree of these has in the subtree of a node what would be unreachable if
 * the node went.
 */
#ifndef SHINY_DOMINATORS_H
#define SHINY_DOMINATORS_H

#include "heap_graph.h"

struct dominators {
	uint32_t *parent; /* [nodes + 1]; of what no root reaches, and of 0: DOMINATORS_NONE */
	uint32_t *order;  /* [reached]: reached nodes, each behind its dominator; order[0] is 0 */
	uint32_t reached;
};
#define DOMINATORS_NONE UINT32_MAX

void dominators_find(const struct heap_graph *graph, struct dominators *out);
void dominators_deinit(struct dominators *dominators);

#endif
