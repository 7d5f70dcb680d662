/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_groups.h: how many groups, such as types, have live blocks.
 *
 * Runs: CLI. Signals: no. Allocates: 4 bytes a group, of LIVE_GROUPS_APART neighbours where one of
 * them ever had a block: most processes have few of all. Threads: one.
 */
#ifndef SHINY_LIVE_GROUPS_H
#define SHINY_LIVE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIVE_GROUPS_APART = 256 };

struct live_groups { /* zeroed: empty */
	uint32_t **blocks; /* by group */
	size_t room;       /* of it, LIVE_GROUPS_APART groups each */
	uint64_t live;     /* groups with blocks */
};

/* A block more of a group (step 1), or one less (-1). Whether it had none, or has none now. */
bool live_groups_count(struct live_groups *groups, uint32_t group, int step);
/* None has blocks any more; those that had are counted out of `total`. Frees what it has. */
void live_groups_empty(struct live_groups *groups, struct live_groups *total);
void live_groups_deinit(struct live_groups *groups);

#endif
