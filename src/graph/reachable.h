/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reachable.h: finds the blocks of a heap graph that its roots reach.
 *
 * Runs: CLI. Signals: no. Allocates: 1 byte a node, 4 more while it works. Threads: any.
 */
#ifndef SHINY_REACHABLE_H
#define SHINY_REACHABLE_H

#include "heap_graph.h"

/* Returns [nodes + 1], set for reached blocks only. The caller frees it. */
bool *reachable_find(const struct heap_graph *graph);

#endif
