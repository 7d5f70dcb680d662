/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retained.h: the bytes that only a type, call site, member, component or root keeps alive.
 *
 * Runs: CLI. Signals: no. Allocates: 20 bytes a block and half a byte an edge beside the
 * graph; then 36 a block beside its blocks. Threads: one a store.
 *
 * A row's retained bytes are those of the subtrees of the dominator tree that have a block of the
 * row on top: its blocks, and all blocks that one of them alone keeps. Each subtree counts once,
 * though blocks of a row may keep each other. Blocks that two blocks keep together are retained by
 * neither, be the two of one row or not.
 *
 * A member's blocks are those that one of its words leads to and nothing outside its object does:
 * the object is their dominator. Blocks behind a word without a name count for the row of the
 * object's type.
 */
#ifndef SHINY_RETAINED_H
#define SHINY_RETAINED_H

#include "../answer/field.h"
#include "dominators.h"

struct retained_row {
	char *name;
	uint64_t blocks, bytes;		   /* the row's own blocks */
	uint64_t retained, retained_bytes; /* with the blocks that only they keep */
	uint64_t largest, largest_bytes;   /* address of the block that retains most; 0: a root */
};
struct retained {
	struct graph_facts facts;
	struct retained_row *rows; /* most retained bytes first */
	size_t count;
	uint64_t blocks, bytes; /* those that roots reach */
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
/* Loads `count` tables of one snapshot: out[i] by by[i]. */
SHINY_MUST_CHECK struct shiny_err *retained_load(struct store *store, const struct filter *filter,
						 uint32_t snapshot, const enum retained_by *by,
						 size_t count, bool full_names,
						 struct retained *out);
void retained_deinit(struct retained *retained);
extern const struct field retained_fields[]; /* of struct retained */

#endif
