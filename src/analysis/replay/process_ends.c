/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process_ends.h"

#include <stdlib.h>

#include "../../base/mem.h"

static int by_end(const void *left, const void *right, void *context)
{
	const struct replay *replay = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t x = replay->processes[a - 1].end, y = replay->processes[b - 1].end;

	return x != y ? (x > y) - (x < y) : (a > b) - (a < b);
}

void process_ends_init(struct process_ends *ends, const struct replay *replay)
{
	*ends = (struct process_ends){ .order = mem_zero(2 * replay->process_count + 1,
							 sizeof(*ends->order)) };
	for (size_t i = 0; i < replay->process_count; i++)
		if (replay->processes[i].wanted && replay->processes[i].early)
			ends->order[ends->count++] = (uint32_t)i + 1;
	if (ends->count)
		qsort_r(ends->order, ends->count, sizeof(*ends->order), by_end, (void *)replay);
}

uint64_t process_ends_time(const struct process_ends *ends, const struct replay *replay)
{
	if (ends->next < ends->count)
		return replay->processes[ends->order[ends->next] - 1].end;
	return ends->next < ends->count + ends->late ? replay->duration : UINT64_MAX;
}

const struct replay_process *process_ends_take(struct process_ends *ends,
					       const struct replay *replay, uint64_t moment)
{
	while (process_ends_time(ends, replay) <= moment) {
		const struct replay_process *p = &replay->processes[ends->order[ends->next] - 1];

		if (ends->next++ >= ends->count || p->told || p->blocks.count)
			return p;
		ends->order[ends->count + ends->late++] = p->id;
	}
	return NULL;
}

void process_ends_deinit(struct process_ends *ends)
{
	free(ends->order);
	*ends = (struct process_ends){ 0 };
}
