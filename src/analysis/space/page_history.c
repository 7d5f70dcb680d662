/* SPDX-License-Identifier: Apache-2.0 */
#include "page_history.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"

const char *const page_set_names[PAGE_SETS] = {
	"-", "D",   "R",   "D+R",   "P",   "D+P",   "R+P",   "D+R+P",
	"Z", "D+Z", "R+Z", "D+R+Z", "P+Z", "D+P+Z", "R+P+Z", "D+R+P+Z"
};

struct page_history_range {
	uint8_t all;       /* states of objects that filled it */
	bool any;          /* `sets` is allocated */
	uint8_t sets[];    /* [RANGE_PAGES], of other objects */
};

/* Returns the range; `with_sets` allocates its sets. */
static struct page_history_range *range_at(struct page_history *history, uint64_t number,
					   bool with_sets)
{
	struct page_history_range *range = range_map_find(&history->map, number);

	if (!range) {
		range_map_afford(&history->map, 0, RANGE_MAP_BYTES + (with_sets ? RANGE_PAGES : 0));
		range = mem_zero(1, sizeof(*range) + (with_sets ? RANGE_PAGES : 0));
		range->any = with_sets;
		range_map_put(&history->map, number, range);
	} else if (with_sets && !range->any) {
		range_map_afford(&history->map, 0, RANGE_PAGES);
		range = mem_resize(range, 1, sizeof(*range) + RANGE_PAGES);
		memset(range->sets, 0, RANGE_PAGES);
		range->any = true;
		range_map_replace(&history->map, number, range);
	}
	return range;
}

void page_history_mark(struct page_history *history, uint64_t address, uint64_t size,
		       enum page_state state)
{
	uint64_t page = address >> PAGE_SHIFT, last = block_last(address, size) >> PAGE_SHIFT,
		 ranges = last / RANGE_PAGES - page / RANGE_PAGES + 1;

	if (page == last) { /* nearly always; at most one an event: these need no account */
		if (!range_maps_spent())
			range_at(history, page / RANGE_PAGES, true)->sets[page % RANGE_PAGES] |=
				(uint8_t)state;
		return;
	}
	if (!range_map_afford(&history->map, ranges, 0))
		return;
	while (page <= last) {
		unsigned first = page % RANGE_PAGES, count = RANGE_PAGES - first;
		struct page_history_range *range;

		if (count > last - page + 1)
			count = (unsigned)(last - page + 1);
		range = range_at(history, page / RANGE_PAGES, count < RANGE_PAGES);
		if (count == RANGE_PAGES)
			range->all |= (uint8_t)state;
		for (unsigned i = first; count < RANGE_PAGES && i < first + count; i++)
			range->sets[i] |= (uint8_t)state;
		page += count;
	}
}

ORDER_BY(by_number, struct range_entry, ORDER_UP(number))

void page_history_each(const struct page_history *history, page_history_fn *each, void *context)
{
	size_t count = history->map.ranges.count;
	struct range_entry *ranges = mem_alloc(count * sizeof(*ranges));

	if (count) {
		memcpy(ranges, history->map.ranges.at, count * sizeof(*ranges));
		qsort(ranges, count, sizeof(*ranges), by_number);
	}
	for (size_t i = 0; i < count; i++) {
		const struct page_history_range *range = ranges[i].value;
		uint8_t sets[RANGE_PAGES];

		for (unsigned k = 0; k < RANGE_PAGES; k++)
			sets[k] = range->any ? range->all | range->sets[k] : range->all;
		each(context, ranges[i].number, sets);
	}
	free(ranges);
}

void page_history_deinit(struct page_history *history)
{
	range_map_deinit(&history->map);
}
