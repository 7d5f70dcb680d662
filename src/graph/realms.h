/* SPDX-License-Identifier: Apache-2.0 */
/*
 * realms.h: assigns each node of a heap graph to an owner, given the nodes that owners hold.
 *
 * Runs: CLI. Signals: no. Allocates: 8 bytes a node while it works. Threads: any.
 *
 * A given node keeps its value. Any other node belongs to an owner if only that owner's nodes lead
 * to it without passing another owner's; it is shared if two owners or a shared node lead to it;
 * and it is unknown if none does.
 *
 * That is the least solution of equations in a lattice, unknown below owners below shared: a node's
 * value is the join of the values of those that point to it. So the order in which nodes are
 * worked on changes nothing, unlike in the marking of V8's garbage collector, where the first realm
 * to reach an object without one gets it. A value rises twice at most.
 */
#ifndef SHINY_REALMS_H
#define SHINY_REALMS_H

#include "heap_graph.h"

enum { REALM_UNKNOWN, REALM_SHARED, REALM_COMMON, REALM_FIRST };

/* Fills in realm[nodes + 1] where it is REALM_UNKNOWN. Given values are an owner's number, from
 * REALM_FIRST on, or REALM_COMMON: a node that belongs to no owner and passes no owner on. */
void realms_find(const struct heap_graph *graph, uint32_t *realm);

#endif
