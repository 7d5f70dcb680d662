/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_blocks.h: the blocks of a heap snapshot in little memory.
 *
 * Runs: CLI. Signals: no. Allocates: 12 bytes a block. Threads: one a table.
 *
 * An address is a distance from a base, and a new base begins where that does not fit into 32 bits,
 * which is where the next heap lies elsewhere; sizes that do not fit stand in a list of their own.
 * Blocks of one stack and vtable are one kind: types and names, which depend on these alone, are
 * looked up once a kind.
 */
#ifndef SHINY_GRAPH_BLOCKS_H
#define SHINY_GRAPH_BLOCKS_H

#include "../base/hash_table.h"
#include "../store/snapshot_parts.h"

struct graph_block {
	uint32_t distance, size, kind; /* size UINT32_MAX: see `large` */
};
struct graph_base {
	uint32_t first; /* number of a block, whose address it is */
	uint64_t address;
};
struct graph_large {
	uint32_t block;
	uint64_t size;
};
struct graph_kind {
	uint32_t stack, vtable;
};
struct graph_blocks { /* zeroed: empty */
	struct graph_block *at; /* [count + 1], from 1 */
	uint32_t count;
	size_t room;
	VEC(struct graph_base) bases;
	VEC(struct graph_large) large;
	VEC(struct graph_kind) kinds;
	struct hash_table by_kind;
};

/* Allocates room for `expected` blocks. The table still grows beyond it, but a table that grows
 * leaves its old memory to the heap each time. */
void graph_blocks_begin(struct graph_blocks *blocks, size_t expected);
/* Adds a block as number `count`. Accepts any values, in any order. */
void graph_blocks_add(struct graph_blocks *blocks, const struct snapshot_block *block);
void graph_blocks_deinit(struct graph_blocks *blocks);

uint64_t graph_blocks_large(const struct graph_blocks *blocks, uint32_t block);
uint64_t graph_blocks_address(const struct graph_blocks *blocks, uint32_t block);

static inline uint64_t graph_blocks_size(const struct graph_blocks *blocks, uint32_t block)
{
	uint32_t size = blocks->at[block].size;

	return size != UINT32_MAX ? size : graph_blocks_large(blocks, block);
}

#endif
