/* SPDX-License-Identifier: Apache-2.0 */
/*
 * realms.h: which owner a node of a heap graph hangs on, where some nodes are known to be owners'.
 *
 * Runs: CLI. Signals: no. Allocates: 8 bytes a node while it works. Threads: any.
 *
 * A node that is given stays what it is. Any other belongs to the one owner from whose nodes
 * pointers lead to it without passing a node of another owner; is shared where two owners, or a
 * shared node, lead to it; and is unknown where none does.
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

/*
 * realm[nodes + 1]: REALM_UNKNOWN, or what the node is known to be: an owner's number from
 * REALM_FIRST on, or REALM_COMMON, which is nobody's and gives nothing on. The unknown ones are
 * filled in.
 */
void realms_find(const struct heap_graph *graph, uint32_t *realm);

#endif
