/* SPDX-License-Identifier: Apache-2.0 */
/* mappings_state.c: see mappings_state.h. */
#include "mappings_state.h"

#include <stdlib.h>

#include "../ring/ticks.h"

uint32_t mappings_text(struct mappings_watch *watch, const char *text)
{
	return *text ? texts_put(&watch->texts, text) + 1 : 0;
}

const char *mappings_text_of(const struct mappings_watch *watch, uint32_t id)
{
	return id ? watch->texts.at[id - 1] : NULL;
}

struct mappings_watch *mappings_watch_create(uint64_t period)
{
	struct mappings_watch *watch = mem_zero(1, sizeof(*watch));

	watch->period = period * 1000000;
	watch->credit = MEMORY_CREDIT;
	watch->heap = mappings_text(watch, "[heap]");
	watch->pools[0] = mappings_text(watch, "partition_alloc");
	watch->pools[1] = mappings_text(watch, "[anon:partition_alloc]");
	return watch;
}

void mappings_watch_destroy(struct mappings_watch *watch)
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

struct mappings *mappings_create(struct mappings_watch *watch, uint32_t process)
{
	struct mappings *memory = mem_zero(1, sizeof(*memory));

	segments_init(&memory->segments, &watch->ids);
	memory->segments.process = process;
	memory->due = ticks_wall_ns() + MEMORY_FIRST;
	return memory;
}

void mappings_destroy(struct mappings *memory)
{
	if (!memory)
		return;
	segments_deinit(&memory->segments);
	free(memory->malloc_regions.at);
	free(memory->remainder);
	free(memory);
}
