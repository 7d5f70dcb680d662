/* SPDX-License-Identifier: Apache-2.0 */
#include "page_refs.h"

#include <stdlib.h>

#include "../../base/mem.h"

static void push(struct page_refs *refs, uint64_t who, uint64_t page)
{
	if (refs->count == refs->room) {
		refs->room = refs->room ? 2 * refs->room : 1024;
		refs->at = mem_resize(refs->at, refs->room, sizeof(*refs->at));
	}
	refs->at[refs->count++] = (struct page_ref){ page, who };
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

static int compare(const void *left, const void *right)
{
	const struct page_ref *a = left, *b = right;

	return a->page != b->page ? (a->page < b->page ? -1 : 1)
				  : (a->who > b->who) - (a->who < b->who);
}

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
