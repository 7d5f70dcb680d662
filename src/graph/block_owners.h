/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_owners.h: a heap snapshot's bytes by owners that a user chooses (owner_rules.h, realms.h).
 *
 * Runs: CLI. Signals: no. Allocates: 13 bytes a block beside the graph. Threads: one a store.
 */
#ifndef SHINY_BLOCK_OWNERS_H
#define SHINY_BLOCK_OWNERS_H

#include "../answer/field.h"
#include "owner_rules.h"
#include "realms.h"

struct block_owners_row {
	char *name;
	uint64_t own, own_bytes; /* blocks that match the owner's rules */
	uint64_t blocks, bytes;	 /* those, and all blocks that hang on them alone */
	uint64_t address;	 /* of one of its own blocks; 0: the owner is a variable */
};
struct block_owners_sums {
	uint64_t blocks, bytes;
};
struct block_owners {
	struct graph_facts facts;
	struct block_owners_row *rows; /* most bytes first; owners without blocks are left out */
	size_t count;
	/* unknown: a root leads to them, but no owner does; unreachable: neither does */
	struct block_owners_sums all, shared, common, unknown, unreachable;
};

SHINY_MUST_CHECK struct shiny_err *block_owners_load(struct store *store,
						     const struct filter *filter, uint32_t snapshot,
						     const struct owner_rules *rules,
						     bool full_names, struct block_owners *out);
void block_owners_deinit(struct block_owners *owners);
extern const struct field block_owners_fields[]; /* of struct block_owners */

#endif
