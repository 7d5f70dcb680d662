/* SPDX-License-Identifier: Apache-2.0 */
#include "used_pages.h"

#include <stdlib.h>

#include "../../base/mem.h"

#define MOST (UINT64_C(1) << 40)

struct used_range {
	uint32_t all;    /* groups of blocks that filled it */
	uint32_t *pages; /* other groups by page; NULL: none */
};

void used_pages_mark(struct used_pages *used, uint64_t address, uint64_t size, unsigned group)
{
	uint64_t page = address >> PAGE_SHIFT,
		 last = block_last(address, size < MOST ? size : MOST) >> PAGE_SHIFT;

	if (!range_map_afford(&used->map, last / RANGE_PAGES - page / RANGE_PAGES + 1, 0))
		return;
	while (page <= last) {
		uint64_t number = page / RANGE_PAGES, behind = (number + 1) * RANGE_PAGES;
		struct used_range *range = range_map_find(&used->map, number);

		if (!range) {
			range_map_afford(&used->map, 0, RANGE_MAP_BYTES);
			range = mem_zero(1, sizeof(*range));
			range_map_put(&used->map, number, range);
		}
		if (page % RANGE_PAGES == 0 && last >= behind - 1) {
			range->all |= UINT32_C(1) << group;
			page = behind;
			continue;
		}
		if (!range->pages) {
			range_map_afford(&used->map, 0, RANGE_PAGES * sizeof(*range->pages));
			range->pages = mem_zero(RANGE_PAGES, sizeof(*range->pages));
		}
		for (; page <= last && page < behind; page++)
			range->pages[page % RANGE_PAGES] |= UINT32_C(1) << group;
	}
}

void used_pages_each(const struct used_pages *used, used_pages_fn *each, void *context)
{
	for (size_t i = 0; i < used->map.ranges.count; i++) {
		const struct used_range *range = used->map.ranges.at[i].value;

		if (!range->pages)
			each(context, range->all, RANGE_PAGES);
		for (unsigned n = 0; range->pages && n < RANGE_PAGES; n++)
			if (range->all | range->pages[n])
				each(context, range->all | range->pages[n], 1);
	}
}

void used_pages_deinit(struct used_pages *used)
{
	for (size_t i = 0; i < used->map.ranges.count; i++)
		free(((struct used_range *)used->map.ranges.at[i].value)->pages);
	range_map_deinit(&used->map);
}
