/* SPDX-License-Identifier: Apache-2.0 */
/* graph_edges.c: see graph_edges.h. */
#include "graph_edges.h"

#include <stdlib.h>

#include "../base/lower_bound.h"

static void reach(struct graph_edges *edges, size_t room)
{
	edges->room = room;
	edges->targets = mem_resize(edges->targets, edges->room * edges->width + sizeof(uint32_t),
				    1);
	if (edges->options & GRAPH_PLACES)
		edges->steps = mem_resize(edges->steps, edges->room, 1);
	if (edges->options & GRAPH_INTO)
		edges->into = mem_resize(edges->into, edges->room, sizeof(*edges->into));
}

void graph_edges_begin(struct graph_edges *edges, uint32_t blocks, uint32_t nodes,
		       unsigned options, size_t expected)
{
	*edges = (struct graph_edges){ .nodes = nodes, .options = options };
	edges->width = blocks >> 24 ? 4 : 3;
	edges->mask = UINT32_MAX >> (32 - 8 * edges->width);
	edges->first = mem_zero((size_t)nodes + 2, sizeof(*edges->first));
	reach(edges, expected + 1);
}

static uint32_t cut(uint64_t number)
{
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static void add_place(struct graph_edges *edges, uint32_t place)
{
	uint32_t step = place - edges->last_place;

	if (step % GRAPH_STEP_BYTES || step / GRAPH_STEP_BYTES >= GRAPH_STEP_FAR) {
		*vec_push(&edges->far) = (struct graph_far){ edges->count, place };
		step = GRAPH_STEP_FAR * GRAPH_STEP_BYTES;
	}
	edges->steps[edges->count] = (uint8_t)(step / GRAPH_STEP_BYTES);
	edges->last_place = place;
}

void graph_edges_add(struct graph_edges *edges, uint32_t source, uint32_t target, uint64_t place,
		     uint64_t into)
{
	if (edges->count == edges->room)
		reach(edges, edges->room * 5 / 4 + 65536);
	if (!edges->first[source + 1]++)
		edges->last_place = 0;
	memcpy(&edges->targets[(size_t)edges->count * edges->width], &target, sizeof(target));
	if (edges->options & GRAPH_PLACES)
		add_place(edges, cut(place));
	if (edges->options & GRAPH_INTO)
		edges->into[edges->count] = cut(into);
	edges->count++;
}

void graph_edges_end(struct graph_edges *edges)
{
	for (uint32_t n = 1; n <= edges->nodes + 1; n++)
		edges->first[n] += edges->first[n - 1];
}

void graph_edges_deinit(struct graph_edges *edges)
{
	free(edges->first);
	free(edges->targets);
	free(edges->steps);
	free(edges->into);
	free(edges->far.at);
	*edges = (struct graph_edges){ 0 };
}

uint32_t graph_edges_far(const struct graph_edges *edges, uint32_t edge)
{
	size_t at = lower_bound(edges->far.count, i, edges->far.at[i].edge < edge);

	return edges->far.at[at].place;
}
