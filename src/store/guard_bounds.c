/* SPDX-License-Identifier: Apache-2.0 */
/* guard_bounds.c: see guard_bounds.h. */
#include "guard_bounds.h"

#include <sqlite3.h>

static void add_memory(int64_t bytes)
{
	static int64_t total;

	total += bytes;
	sqlite3_hard_heap_limit64(total);
}

void guard_memory(struct guard *guard, uint64_t bytes)
{
	guard->memory = bytes;
	add_memory((int64_t)bytes);
}

void guard_end(struct guard *guard)
{
	if (guard->memory)
		add_memory(-(int64_t)guard->memory);
	guard->memory = 0;
}
