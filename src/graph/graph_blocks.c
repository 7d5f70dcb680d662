/* SPDX-License-Identifier: Apache-2.0 */
/* graph_blocks.c: see graph_blocks.h. */
#include "graph_blocks.h"

#include <stdlib.h>

#include "../base/hash.h"
#include "../base/lower_bound.h"

static uint32_t find_kind(struct graph_blocks *blocks, uint32_t stack, uint32_t vtable)
{
	uint64_t hash = hash_key((uint64_t)stack << 32 | vtable);
	uint32_t kind = hash_table_find(&blocks->by_kind, hash, i,
					blocks->kinds.at[i].stack == stack &&
						blocks->kinds.at[i].vtable == vtable);

	if (kind == HASH_NONE) {
		kind = (uint32_t)blocks->kinds.count;
		*vec_push(&blocks->kinds) = (struct graph_kind){ stack, vtable };
		hash_table_add(&blocks->by_kind, hash, kind);
	}
	return kind;
}

static uint32_t distance_to(struct graph_blocks *blocks, uint64_t address)
{
	size_t count = blocks->bases.count;

	if (!count || address - blocks->bases.at[count - 1].address > UINT32_MAX) {
		*vec_push(&blocks->bases) = (struct graph_base){ blocks->count, address };
		count++;
	}
	return (uint32_t)(address - blocks->bases.at[count - 1].address);
}

static void reach(struct graph_blocks *blocks, size_t room)
{
	blocks->room = room;
	blocks->at = mem_resize(blocks->at, room, sizeof(*blocks->at));
}

void graph_blocks_begin(struct graph_blocks *blocks, size_t expected)
{
	*blocks = (struct graph_blocks){ 0 };
	reach(blocks, expected + 1);
}

void graph_blocks_add(struct graph_blocks *blocks, const struct snapshot_block *block)
{
	struct graph_block *b;

	if (++blocks->count >= blocks->room)
		reach(blocks, blocks->room * 3 / 2 + 1024);
	b = &blocks->at[blocks->count];
	b->distance = distance_to(blocks, block->address);
	b->kind = find_kind(blocks, block->stack, block->vtable);
	b->size = (uint32_t)block->size;
	if (block->size >= UINT32_MAX) {
		b->size = UINT32_MAX;
		*vec_push(&blocks->large) = (struct graph_large){ blocks->count, block->size };
	}
}

void graph_blocks_deinit(struct graph_blocks *blocks)
{
	free(blocks->at);
	free(blocks->bases.at);
	free(blocks->large.at);
	free(blocks->kinds.at);
	hash_table_deinit(&blocks->by_kind);
	*blocks = (struct graph_blocks){ 0 };
}

uint64_t graph_blocks_large(const struct graph_blocks *blocks, uint32_t block)
{
	size_t at = lower_bound(blocks->large.count, i, blocks->large.at[i].block < block);

	return blocks->large.at[at].size;
}

uint64_t graph_blocks_address(const struct graph_blocks *blocks, uint32_t block)
{
	size_t base = lower_bound(blocks->bases.count, i, blocks->bases.at[i].first <= block) - 1;

	return blocks->bases.at[base].address + blocks->at[block].distance;
}
