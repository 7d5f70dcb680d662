/* SPDX-License-Identifier: Apache-2.0 */
/* realms.c: see realms.h. */
#include "realms.h"

#include <stdlib.h>

#include "../base/mem.h"

static uint32_t join(uint32_t a, uint32_t b)
{
	return a == REALM_UNKNOWN || a == b ? b : REALM_SHARED;
}

void realms_find(const struct heap_graph *g, uint32_t *realm)
{
	/* a node is queued twice at most */
	uint32_t *waiting = mem_alloc(((size_t)g->nodes + 1) * 2 * sizeof(*waiting));
	bool *known = mem_zero((size_t)g->nodes + 1, sizeof(*known));
	size_t count = 0;

	for (uint32_t n = 1; n <= g->nodes; n++) {
		known[n] = realm[n] != REALM_UNKNOWN;
		if (known[n] && realm[n] != REALM_COMMON)
			waiting[count++] = n;
	}
	while (count) {
		uint32_t n = waiting[--count];

		for (uint32_t e = heap_graph_first(g, n); e < heap_graph_first(g, n + 1); e++) {
			uint32_t to = heap_graph_target(g, e), joined = join(realm[to], realm[n]);

			if (known[to] || joined == realm[to])
				continue;
			realm[to] = joined;
			waiting[count++] = to;
		}
	}
	free(known);
	free(waiting);
}
