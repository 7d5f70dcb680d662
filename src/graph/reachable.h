/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reachable.h: what the roots of a heap graph reach.
 *
 * Runs: CLI. Signals: no. Allocates: 1 byte a node, 4 more while it works. Threads: any.
 */
#ifndef SHINY_REACHABLE_H
#define SHINY_REACHABLE_H

#include "heap_graph.h"

/* [nodes + 1], of blocks only; the caller's to free. */
bool *reachable_find(const struct heap_graph *graph);

#endif
