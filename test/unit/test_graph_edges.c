/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_graph_edges.c: the packed tables of a heap graph give back what was put into them: blocks
 * far apart, falling, and of any size; targets of three and of four bytes; places that are no
 * multiple of anything, far apart, or falling.
 */
#include "../../src/base/mem.h"
#include "../../src/graph/graph_blocks.h"
#include "../../src/graph/graph_edges.h"
#include "check.h"

enum { BLOCKS = 5000, NODES = 300, EDGES = 20000 };

static uint64_t state = 1;
static uint64_t draw(uint64_t limit)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (state >> 24) % limit;
}

static void test_blocks(void)
{
	static struct snapshot_block put[BLOCKS + 1];
	struct graph_blocks blocks;
	unsigned wrong = 0;

	graph_blocks_begin(&blocks, BLOCKS / 7);
	for (uint32_t n = 1; n <= BLOCKS; n++) {
		put[n] = (struct snapshot_block){
			.address = draw(50) ? put[n - 1].address + draw(1 << 20)
				   : draw(2) ? put[n - 1].address + draw(UINT64_C(1) << 47)
					     : draw(UINT64_MAX >> 24),
			.size = draw(20) ? draw(4096) : UINT32_MAX - 2 + draw(5),
			.stack = (uint32_t)draw(9),
			.vtable = (uint32_t)draw(3),
		};
		graph_blocks_add(&blocks, &put[n]);
	}
	for (uint32_t n = 1; n <= BLOCKS; n++) {
		const struct graph_kind *kind = &blocks.kinds.at[blocks.at[n].kind];

		wrong += graph_blocks_address(&blocks, n) != put[n].address ||
			 graph_blocks_size(&blocks, n) != put[n].size ||
			 kind->stack != put[n].stack || kind->vtable != put[n].vtable;
	}
	number("blocks", blocks.count, BLOCKS);
	number("blocks that are others", wrong, 0);
	number("kinds", blocks.kinds.count, 27);
	check_that("some are far, some large",
		   blocks.bases.count > 20 && blocks.large.count > 20);
	graph_blocks_deinit(&blocks);
}

static uint64_t next_place(uint64_t place)
{
	switch (draw(8)) {
	case 0: return place + draw(9);
	case 1: return draw(5000);
	case 2: return place + draw(UINT64_C(1) << 33);
	case 3: return place + (GRAPH_STEP_FAR - 1 + draw(3)) * GRAPH_STEP_BYTES;
	default: return place + draw(100) * GRAPH_STEP_BYTES;
	}
}

static uint32_t cut(uint64_t number)
{
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static void test_edges(uint32_t blocks)
{
	static struct snapshot_edge put[EDGES];
	struct graph_edges edges;
	uint32_t count = 0, checked = 0;
	unsigned wrong = 0;

	graph_edges_begin(&edges, blocks, NODES, GRAPH_PLACES | GRAPH_INTO, 3);
	for (uint32_t n = 1; n <= NODES; n++) {
		uint64_t place = 0;

		for (uint64_t i = draw(3) ? draw(2 * EDGES / NODES) / 2 : 0; i > 0; i--) {
			place = next_place(place);
			put[count] = (struct snapshot_edge){ n, 1 + (uint32_t)draw(blocks), place,
							     draw(UINT64_C(1) << 33) };
			graph_edges_add(&edges, n, put[count].target, place, put[count].into);
			count++;
		}
	}
	graph_edges_end(&edges);
	for (uint32_t n = 1; n <= NODES; n++) {
		uint32_t place = 0;

		for (uint32_t e = edges.first[n]; e < edges.first[n + 1]; e++, checked++) {
			place = graph_edges_place(&edges, e, place);
			wrong += put[e].source != n || place != cut(put[e].at) ||
				 graph_edges_target(&edges, e) != put[e].target ||
				 edges.into[e] != cut(put[e].into);
		}
	}
	checkf("enough edges", count > EDGES / 10, "%u", count);
	number("edges", checked, count);
	number("edges that are others", wrong, 0);
	graph_edges_deinit(&edges);
}

int main(void)
{
	test_blocks();
	test_edges(200);
	test_edges((1 << 24) - 1);
	test_edges(1 << 24);
	test_edges(UINT32_MAX >> 1);
	return failures != 0;
}
