/* SPDX-License-Identifier: Apache-2.0 */
/* mappings_state.c: see mappings_state.h. */
#include "mappings_state.h"

#include <stdlib.h>

#include "../ring/ticks.h"

uint32_t memory_text(struct memory_watch *watch, const char *text)
{
	return *text ? texts_put(&watch->texts, text) + 1 : 0;
}

const char *memory_text_of(const struct memory_watch *watch, uint32_t id)
{
	return id ? watch->texts.at[id - 1] : NULL;
}

struct memory_watch *memory_watch_create(uint64_t period)
{
	struct memory_watch *watch = mem_zero(1, sizeof(*watch));

	watch->period = period * 1000000;
	watch->credit = MEMORY_CREDIT;
	watch->heap = memory_text(watch, "[heap]");
	watch->pools[0] = memory_text(watch, "partition_alloc");
	watch->pools[1] = memory_text(watch, "[anon:partition_alloc]");
	return watch;
}

void memory_watch_destroy(struct memory_watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->past.count; i++)
		free(watch->past.at[i]);
	free(watch->past.at);
	free(watch->parts.at);
	free(watch->flux.at);
	free(watch->sample.shared.at);
	free(watch->sample.bounds.at);
	free(watch->sample.counts.at);
	texts_deinit(&watch->texts);
	smaps_deinit(&watch->sample.smaps);
	free(watch);
}

struct memory *memory_create(struct memory_watch *watch, uint32_t process)
{
	struct memory *memory = mem_zero(1, sizeof(*memory));

	segments_init(&memory->segments, &watch->ids);
	memory->segments.process = process;
	memory->due = ticks_wall_ns() + MEMORY_FIRST;
	return memory;
}

void memory_destroy(struct memory *memory)
{
	if (!memory)
		return;
	segments_deinit(&memory->segments);
	free(memory->malloc_regions.at);
	free(memory->remainder);
	free(memory);
}
