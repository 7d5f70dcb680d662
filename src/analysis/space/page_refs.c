/* SPDX-License-Identifier: Apache-2.0 */
#include "page_refs.h"

#include <stdlib.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"

static void push(struct page_refs *refs, uint64_t who, uint64_t page)
{
	*vec_push(refs) = (struct page_ref){ page, who };
}

uint64_t page_refs_add(struct page_refs *refs, uint64_t who, uint32_t space, uint64_t address,
		       uint64_t size)
{
	uint64_t first = address >> PAGE_SHIFT, last = block_last(address, size) >> PAGE_SHIFT,
		 above = (uint64_t)space << (48 - PAGE_SHIFT);

	push(refs, who, above | first);
	if (last > first)
		push(refs, who, above | last);
	return last > first ? last - first - 1 : 0;
}

ORDER_BY(compare, struct page_ref, ORDER_UP(page) ?: ORDER_UP(who))

void page_refs_sort(struct page_refs *refs)
{
	size_t kept = 0;

	if (refs->count)
		qsort(refs->at, refs->count, sizeof(*refs->at), compare);
	for (size_t i = 0; i < refs->count; i++)
		if (!kept || compare(&refs->at[i], &refs->at[kept - 1]))
			refs->at[kept++] = refs->at[i];
	refs->count = kept;
}

void page_refs_deinit(struct page_refs *refs)
{
	free(refs->at);
	*refs = (struct page_refs){ 0 };
}
