/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retained.h: what would go if a block, all blocks of a type or call site, or a root went.
 *
 * Runs: CLI. Signals: no. Allocates: 20 bytes a block and half a byte an edge beside the
 * graph; then 36 a block beside its blocks. Threads: one a store.
 *
 * A row's retained bytes are those of its blocks and of all blocks that only they keep, one by one:
 * the subtrees of the dominator tree that have a block of the row on top, each counted once, though
 * blocks of a row may keep each other. What two blocks keep together, neither retains, be they of
 * two rows or of one.
 *
 * A member's blocks are those that a word of it leads to, and that nothing outside its object leads
 * to: the object is their dominator. What a word without a name leads to, its type's row has.
 */
#ifndef SHINY_RETAINED_H
#define SHINY_RETAINED_H

#include "dominators.h"

struct retained_row {
	char *name;
	uint64_t blocks, bytes;            /* its own */
	uint64_t retained, retained_bytes; /* with those */
	uint64_t largest, largest_bytes; /* address of its block that retains most; of roots 0 */
};
struct retained {
	struct graph_facts facts;
	struct retained_row *rows; /* most retained bytes first */
	size_t count;
	uint64_t blocks, bytes;           /* that roots reach */
	uint64_t unreachable, unreachable_bytes;
};

enum retained_by {
	RETAINED_BY_TYPE,
	RETAINED_BY_SITE,
	RETAINED_BY_MEMBER,
	RETAINED_BY_COMPONENT,
	RETAINED_BY_ROOT,
	RETAINED_BYS
};
/* Of one snapshot, by each of `by`: `out` has as many. */
SHINY_MUST_CHECK struct shiny_err *retained_load(struct store *store, const struct filter *filter,
						 uint32_t snapshot, const enum retained_by *by,
						 size_t count, bool full_names,
						 struct retained *out);
void retained_deinit(struct retained *retained);

#endif
