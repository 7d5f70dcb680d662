/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_edges.h: the edges of a heap graph in little memory, in compressed sparse rows.
 *
 * Runs: CLI. Signals: no. Allocates: 3 bytes an edge below 16 million blocks, else 4; one more with
 * places, four more with those in the target; 4 a node. Threads: one a table.
 *
 * A target is a number of as many bytes as the number of blocks has, not a variable number of them:
 * a search looks at edges out of order, and needs no state but an edge's number. A place, which is
 * asked for in the order of a source's edges alone, is the distance to the place before it, in
 * units of a compressed member; where that does not fit a byte, a list has the place.
 */
#ifndef SHINY_GRAPH_EDGES_H
#define SHINY_GRAPH_EDGES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../base/mem.h"

/*
 * What is loaded beside the edges that keep a block. A pointer behind a block's end does not: what
 * begins there is another's, often the allocator's note about the next block. GRAPH_INTO is for
 * tests that print edges.
 */
enum graph_options { GRAPH_PLACES = 1, GRAPH_ENDS = 2, GRAPH_INTO = 4 };

enum { GRAPH_STEP_BYTES = 4, GRAPH_STEP_FAR = UINT8_MAX };

struct graph_far {
	uint32_t edge, place;
};
struct graph_edges { /* zeroed: empty */
	uint32_t *first; /* [nodes + 2]; edges of n: first[n] to first[n + 1] - 1 */
	uint32_t nodes, count;
	unsigned options, width;
	uint32_t mask;    /* of the `width` lowest bytes */
	uint8_t *targets; /* 4 bytes may be read at each */
	uint8_t *steps;   /* GRAPH_STEP_FAR: see `far` */
	uint32_t *into;   /* cut to 32 bits, as places are */
	VEC(struct graph_far) far;
	size_t room;
	uint32_t last_place;
};

/* Sources are 1 to `nodes`, targets are 1 to `blocks`. `expected` edges have room from the start: a
 * table that grows leaves its old memory to the heap as often. */
void graph_edges_begin(struct graph_edges *edges, uint32_t blocks, uint32_t nodes,
		       unsigned options, size_t expected);
/* Sources do not fall. At most UINT32_MAX. */
void graph_edges_add(struct graph_edges *edges, uint32_t source, uint32_t target, uint64_t place,
		     uint64_t into);
void graph_edges_end(struct graph_edges *edges);
void graph_edges_deinit(struct graph_edges *edges);

static inline uint32_t graph_edges_target(const struct graph_edges *edges, uint32_t edge)
{
	uint32_t target;

	memcpy(&target, &edges->targets[(size_t)edge * edges->width], sizeof(target));
	return target & edges->mask;
}

uint32_t graph_edges_far(const struct graph_edges *edges, uint32_t edge);

/* `before`: the place of the source's edge before this one; 0 for its first. */
static inline uint32_t graph_edges_place(const struct graph_edges *edges, uint32_t edge,
					 uint32_t before)
{
	uint8_t step = edges->steps[edge];

	return step != GRAPH_STEP_FAR ? before + step * GRAPH_STEP_BYTES
				      : graph_edges_far(edges, edge);
}

#endif
