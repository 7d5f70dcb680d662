/* SPDX-License-Identifier: Apache-2.0 */
/* reachable.c: see reachable.h. */
#include "reachable.h"

#include <stdlib.h>

#include "../base/mem.h"

bool *reachable_find(const struct heap_graph *g)
{
	uint32_t *waiting = mem_alloc(((size_t)g->nodes + 1) * sizeof(*waiting)), count = 0;
	bool *reached = mem_zero((size_t)g->nodes + 1, sizeof(*reached));

	for (uint32_t n = g->blocks + 1; n <= g->nodes; n++)
		waiting[count++] = n;
	while (count) {
		uint32_t n = waiting[--count];

		for (uint32_t e = heap_graph_first(g, n); e < heap_graph_first(g, n + 1); e++) {
			uint32_t to = heap_graph_target(g, e);

			if (!reached[to]) {
				reached[to] = true;
				waiting[count++] = to;
			}
		}
	}
	free(waiting);
	return reached;
}
