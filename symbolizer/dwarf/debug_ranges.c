/* SPDX-License-Identifier: Apache-2.0 */
/* debug_ranges.c: see debug_ranges.h. */
#include "debug_ranges.h"

#include <stdlib.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/row_order.h"

#define RANGES_MAX (1u << 22)

bool debug_ranges_add(struct code_ranges *ranges, const struct binary *file, Dwarf_Die *die,
		      uint32_t owner)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	bool any = false;

	while (ranges->all.count < RANGES_MAX &&
	       (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		/* linkers leave the ranges of dropped functions, at 0 or at 1 */
		if (high <= low || !(binary_flags(file, low) & PF_X))
			continue;

		uint32_t order = (uint32_t)ranges->all.count;

		*vec_push(&ranges->all) = (struct code_range){ low, high, 0, owner, order };
		any = true;
	}
	return any;
}

ORDER_BY(compare_ranges, struct code_range, ORDER_UP(low) ?: ORDER_DOWN(high) ?: ORDER_UP(order))

void debug_ranges_sort(struct code_ranges *ranges)
{
	uint64_t reach = 0;

	if (ranges->all.count)
		qsort(ranges->all.at, ranges->all.count, sizeof(*ranges->all.at), compare_ranges);
	for (size_t i = 0; i < ranges->all.count; i++) {
		if (ranges->all.at[i].high > reach)
			reach = ranges->all.at[i].high;
		ranges->all.at[i].reach = reach;
	}
}

bool debug_ranges_next(const struct code_ranges *ranges, uint64_t vaddr, size_t *at)
{
	const struct code_range *all = ranges->all.at;
	size_t behind = lower_bound(*at, i, all[i].low <= vaddr);

	while (behind-- > 0 && all[behind].reach > vaddr)
		if (all[behind].high > vaddr) {
			*at = behind;
			return true;
		}
	return false;
}

void debug_ranges_free(struct code_ranges *ranges)
{
	free(ranges->all.at);
	*ranges = (struct code_ranges){ 0 };
}
