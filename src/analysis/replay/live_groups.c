/* SPDX-License-Identifier: Apache-2.0 */
/* live_groups.c: see live_groups.h. */
#include "live_groups.h"

#include <stdlib.h>

#include "../../base/mem.h"

bool live_groups_count(struct live_groups *groups, uint32_t group, int step)
{
	size_t near = group / LIVE_GROUPS_APART;
	uint32_t *blocks, before;

	if (near >= groups->room)
		groups->blocks =
			mem_reach(groups->blocks, &groups->room, near, sizeof(*groups->blocks), 16);
	if (!groups->blocks[near])
		groups->blocks[near] = mem_zero(LIVE_GROUPS_APART, sizeof(*groups->blocks[near]));
	blocks = &groups->blocks[near][group % LIVE_GROUPS_APART];
	before = *blocks;
	*blocks += (uint32_t)step;
	if (before && *blocks)
		return false;
	groups->live += (*blocks != 0) - (uint64_t)(before != 0);
	return true;
}

void live_groups_empty(struct live_groups *groups, struct live_groups *total)
{
	for (size_t i = 0; i < groups->room; i++)
		for (size_t k = 0; groups->blocks[i] && k < LIVE_GROUPS_APART; k++)
			if (groups->blocks[i][k])
				live_groups_count(total, (uint32_t)(i * LIVE_GROUPS_APART + k), -1);
	live_groups_deinit(groups);
}

void live_groups_deinit(struct live_groups *groups)
{
	for (size_t i = 0; i < groups->room; i++)
		free(groups->blocks[i]);
	free(groups->blocks);
	*groups = (struct live_groups){ 0 };
}
