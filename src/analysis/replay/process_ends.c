/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process_ends.h"

#include <stdlib.h>

#include "../../base/mem.h"

static int by_end(const void *left, const void *right, void *context)
{
	const struct lives *lives = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t x = lives->processes[a - 1].end, y = lives->processes[b - 1].end;

	return x != y ? (x > y) - (x < y) : (a > b) - (a < b);
}

void process_ends_init(struct process_ends *ends, const struct lives *lives)
{
	*ends = (struct process_ends){ .order = mem_zero(2 * lives->process_count + 1, sizeof(*ends->order)) };
	for (size_t i = 0; i < lives->process_count; i++)
		if (lives->processes[i].wanted && lives->processes[i].early)
			ends->order[ends->count++] = (uint32_t)i + 1;
	if (ends->count)
		qsort_r(ends->order, ends->count, sizeof(*ends->order), by_end, (void *)lives);
}

uint64_t process_ends_time(const struct process_ends *ends, const struct lives *lives)
{
	if (ends->next < ends->count)
		return lives->processes[ends->order[ends->next] - 1].end;
	return ends->next < ends->count + ends->late ? lives->duration : UINT64_MAX;
}

const struct lives_process *process_ends_take(struct process_ends *ends, const struct lives *lives,
					      uint64_t moment)
{
	while (process_ends_time(ends, lives) <= moment) {
		const struct lives_process *p = &lives->processes[ends->order[ends->next] - 1];

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
