/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_growth.h: finds the members, containers and variables that gained references between two
 * heap snapshots of one process.
 *
 * Runs: CLI. Signals: no. Allocates: as retainers.h, for one snapshot at a time. Threads: one a
 * store.
 *
 * Each block that a root reaches counts once, for its holder (retainers.h): the last named member
 * on its way, else the root. So a container's nodes, buffers and elements count for the member that
 * is the container, and blocks behind a member of an element count for that member.
 */
#ifndef SHINY_EDGE_GROWTH_H
#define SHINY_EDGE_GROWTH_H

#include "retainers.h"

struct edge_growth_row {
	char *name;
	uint64_t blocks, bytes; /* in the later snapshot */
	int64_t blocks_gained, bytes_gained;
};
struct edge_growth {
	struct graph_facts facts[2];
	struct edge_growth_row *rows; /* changed holders; most bytes gained first, most lost last */
	size_t count;
	uint64_t unchanged; /* holders with as many blocks and bytes in both */
};

/* Snapshots of two processes, or the same one twice, are a usage error. */
SHINY_MUST_CHECK struct shiny_err *edge_growth_load(struct store *store,
						    const struct filter *filter,
						    const uint32_t snapshots[2], bool full_names,
						    struct edge_growth *out);
void edge_growth_deinit(struct edge_growth *growth);

extern const struct field edge_growth_fields[]; /* of struct edge_growth */

#endif
