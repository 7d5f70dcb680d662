/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_edges.h: the edges of a heap graph in little memory, in compressed sparse rows.
 *
 * Runs: CLI. Signals: no. Allocates: 3 bytes an edge below 16 million blocks, else 4; one more with
 * places, four more with those in the target; 4 a node. Threads: one a table.
 *
 * Every target is stored in as few bytes as the number of blocks needs: a search visits edges out
 * of order, and needs only an edge's number. A place is the offset of the pointing word in its
 * source. Places are read in the order of a source's edges, so each is stored as the distance from
 * the one before it, in units of a compressed member; a list holds those whose distance does not
 * fit a byte.
 */
#ifndef SHINY_GRAPH_EDGES_H
#define SHINY_GRAPH_EDGES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../base/mem.h"

/*
 * Loads more than the targets of edges that keep a block: the places (GRAPH_PLACES), pointers just
 * behind a block's end (GRAPH_ENDS), the offsets in the target (GRAPH_INTO, for tests that print
 * edges). A pointer behind a block's end keeps nothing: it points to another block, often to the
 * allocator's note in front of it.
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
	uint32_t mask;    /* selects the `width` lowest bytes */
	uint8_t *targets; /* readable for 4 bytes at each target */
	uint8_t *steps;   /* GRAPH_STEP_FAR: see `far` */
	uint32_t *into;   /* cut to 32 bits, as places are */
	VEC(struct graph_far) far;
	size_t room;
	uint32_t last_place;
};

/* Sources are 1 to `nodes`, targets are 1 to `blocks`. Allocates room for `expected` edges: a table
 * that grows leaves its old memory to the heap each time. */
void graph_edges_begin(struct graph_edges *edges, uint32_t blocks, uint32_t nodes,
		       unsigned options, size_t expected);
/* Adds an edge; `source` never falls from one call to the next. Room for UINT32_MAX edges. */
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
