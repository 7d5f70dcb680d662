/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packer.h: the struct of a packer, for block.c, which begins and ends blocks, and block_pack.c,
 * which adds events.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one a packer.
 */
#ifndef SHINY_STORE_PACKER_H
#define SHINY_STORE_PACKER_H

#include <stdint.h>

#include "block_format.h"
#include "model.h"

enum { TABLE_BITS = 18, NODE_BITS = 18, PAIR_TABLE_BITS = 13 };
_Static_assert(NODES <= 1 << NODE_BITS, "a node's number is the low part of a table's entry");

struct packer {
	struct model model;
	uint32_t count;
	uint64_t first, last;
	uint8_t *columns[COLUMN_COUNT], *at[COLUMN_COUNT]; /* `at` of CONTROL and TIME follow from
	                                                    * `count` */
	uint8_t *memory;               /* of all columns; touched only as far as they are filled */
	uint32_t stamp;                /* number of this block, in the high bits of its entries in
	                                * `table` */
	uint32_t table[1 << TABLE_BITS];      /* address -> stamp | node, open addressing; entries
	                                       * of ended blocks stay */
	uint16_t pair_table[1 << PAIR_TABLE_BITS]; /* pair + 1, open addressing */
	uint32_t processes[PAIRS];
	struct ZSTD_CCtx_s *zstd;
	void *out;
	size_t out_room;
};

static inline void packer_note_time(struct packer *p, uint64_t time)
{
	if (time < p->first)
		p->first = time;
	if (time > p->last)
		p->last = time;
}

#endif
