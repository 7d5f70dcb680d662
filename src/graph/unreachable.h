/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unreachable.h: blocks of a heap snapshot that no root reaches.
 *
 * Runs: CLI. Signals: no. Allocates: 6 bytes a block beside the graph. Threads: one a store.
 *
 * Counts as LeakSanitizer does: an unreachable block is indirect if another unreachable one points
 * to it, else direct; so a cycle is indirect. A pointer into the middle of a block keeps it, one
 * behind its end does not.
 */
#ifndef SHINY_UNREACHABLE_H
#define SHINY_UNREACHABLE_H

#include "heap_graph.h"

struct unreachable_sums {
	uint64_t direct, direct_bytes, indirect, indirect_bytes;
};
struct unreachable_row {
	char *name;
	struct unreachable_sums sums;
	uint64_t address; /* of one of the blocks, a direct one if there is any */
	uint32_t stack;   /* of that block */
};
struct unreachable {
	struct graph_facts facts;
	struct unreachable_row *rows; /* most bytes first */
	size_t count;
	struct unreachable_sums sums;
	uint64_t blocks, bytes;                  /* of the snapshot */
	uint64_t suppressed, suppressed_bytes;   /* blocks left out of the sums */
};

/* Loads rows by GROUP_SITE or GROUP_TYPE. `suppressions`: a file (suppressions.h); NULL: none. */
SHINY_MUST_CHECK struct shiny_err *unreachable_load(struct store *store,
						    const struct filter *filter, uint32_t snapshot,
						    enum group_by by, const char *suppressions,
						    bool full_names, struct unreachable *out);
void unreachable_deinit(struct unreachable *unreachable);

extern const struct field unreachable_fields[]; /* of struct unreachable */

#endif
