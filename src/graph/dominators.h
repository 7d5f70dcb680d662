/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dominators.h: finds each node's immediate dominator in a heap graph.
 *
 * Runs: CLI. Signals: no. Allocates: 20 bytes a node and half a byte an edge while it works, 8 a
 * node after. Threads: any.
 *
 * Node 0 stands above all roots. The immediate dominator of a block is the last node that all ways
 * from 0 to it pass; in the tree of dominators, the subtree of a node holds what becomes
 * unreachable when the node is freed.
 */
#ifndef SHINY_DOMINATORS_H
#define SHINY_DOMINATORS_H

#include "heap_graph.h"

struct dominators {
	uint32_t *parent; /* [nodes + 1]; DOMINATORS_NONE: node 0, or not reached */
	uint32_t *order;  /* [reached]: reached nodes, each after its dominator; order[0] is 0 */
	uint32_t reached;
};
#define DOMINATORS_NONE UINT32_MAX

void dominators_find(const struct heap_graph *graph, struct dominators *out);
void dominators_deinit(struct dominators *dominators);

#endif
