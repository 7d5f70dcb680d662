/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_parts.h: packs blocks and edges of a heap snapshot into parts, and unpacks them.
 *
 * Runs: sidecar (packs, in a separate thread), CLI (unpacks). Signals: no. Allocates: yes. Threads:
 * one a packer.
 *
 * The nodes of a snapshot have numbers: blocks are 1 to B in order of their addresses, roots are
 * B + 1 to B + R (table root). An edge is a word of its source that points to its target. Edges are
 * in order of their source, those of one source in order of `at`.
 */
#ifndef SHINY_SNAPSHOT_PARTS_H
#define SHINY_SNAPSHOT_PARTS_H

#include "../base/mem.h"
#include "store.h"

struct snapshot_block {
	uint64_t address, size;
	uint32_t stack, vtable;
};
struct snapshot_edge {
	uint32_t source, target;
	uint64_t at;   /* offset of the word in its source; for registers 8 * its index */
	uint64_t into; /* offset in the target; the target's size: behind its end */
};

enum part_kind { SNAPSHOT_BLOCKS, SNAPSHOT_EDGES, SNAPSHOT_COLUMNS = 4 };
enum { SNAPSHOT_PART_ROWS = 1 << 16 };

/* Packed rows of blocks or of edges. */
struct packed_part {
	enum part_kind kind;
	uint32_t rows;
	size_t bytes;
	void *data;
};
struct snapshot_packer { /* zeroed: empty */
	VEC(struct packed_part) parts;
	uint64_t *columns[SNAPSHOT_COLUMNS]; /* SNAPSHOT_PART_ROWS each */
	uint64_t last[2]; /* of the row before: source or address; target or stack */
	enum part_kind kind;
	uint32_t rows;
	uint64_t blocks, edges, failed; /* failed: parts that zstd could not compress */
};
/* Pack all blocks, then all edges, then call snapshot_pack_end. */
void snapshot_pack_block(struct snapshot_packer *packer, const struct snapshot_block *block);
void snapshot_pack_edge(struct snapshot_packer *packer, const struct snapshot_edge *edge);
void snapshot_pack_end(struct snapshot_packer *packer);
void snapshot_packer_deinit(struct snapshot_packer *packer);

SHINY_MUST_CHECK struct shiny_err *snapshot_put_parts(struct store *store, uint32_t snapshot,
						      const struct snapshot_packer *packer);

/* Call `each` with the blocks or edges of a snapshot, a part at a time. Any bytes are safe to read;
 * ids are not checked. */
typedef struct shiny_err *snapshot_blocks_fn(void *context, const struct snapshot_block *blocks,
					     size_t count);
typedef struct shiny_err *snapshot_edges_fn(void *context, const struct snapshot_edge *edges,
					    size_t count);
SHINY_MUST_CHECK struct shiny_err *snapshot_each_block(struct store *store, uint32_t snapshot,
						       snapshot_blocks_fn *each, void *context);
SHINY_MUST_CHECK struct shiny_err *snapshot_each_edge(struct store *store, uint32_t snapshot,
						      snapshot_edges_fn *each, void *context);

#endif
