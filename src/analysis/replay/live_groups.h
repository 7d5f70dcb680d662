/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_groups.h: counts the groups, such as types, that have live blocks.
 *
 * Runs: CLI. Signals: no. Allocates: 4 bytes a group, for LIVE_GROUPS_APART neighbours at once when
 * one first has a block: most processes use few groups. Threads: one.
 */
#ifndef SHINY_LIVE_GROUPS_H
#define SHINY_LIVE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIVE_GROUPS_APART = 256 };

struct live_groups { /* zeroed: empty */
	uint32_t **blocks; /* indexed by group, in parts of LIVE_GROUPS_APART */
	size_t room;       /* number of those parts */
	uint64_t live;     /* groups with blocks */
};

/* Counts a block of a group (step 1), or one less (-1). True: it is the group's first, or was its
 * last. */
bool live_groups_count(struct live_groups *groups, uint32_t group, int step);
/* Removes all blocks; subtracts the groups that had any from `total`. Frees the counts. */
void live_groups_empty(struct live_groups *groups, struct live_groups *total);
void live_groups_deinit(struct live_groups *groups);

#endif
