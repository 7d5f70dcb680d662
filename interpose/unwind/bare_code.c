/* SPDX-License-Identifier: Apache-2.0 */
/* bare_code.c: see bare_code.h. */
#include "bare_code.h"

struct si_bare_code si_bare_code;

/* State while functions are reported, in the order of the sorted table. */
static struct {
	uintptr_t start, last; /* first address of the code; of the previous function */
	uint64_t next;         /* the first page after the described ones */
	bool disordered;
	struct si_bare_code found;
} learning;

/* Adds the bare pages [next, page) to the runs, if they are among the longest. */
static void keep_run(uint64_t page)
{
	uintptr_t bytes = (page - learning.next) << SI_BARE_PAGE_BITS;
	unsigned i = SI_BARE_RUNS - 1;

	if (page <= learning.next || bytes <= learning.found.run[i].bytes)
		return;
	for (; i > 0 && learning.found.run[i - 1].bytes < bytes; i--)
		learning.found.run[i] = learning.found.run[i - 1];
	learning.found.run[i] = (struct si_bare_run){
		learning.start + (learning.next << SI_BARE_PAGE_BITS), bytes
	};
}

static void describe(uintptr_t begin, uintptr_t end)
{
	uint64_t first, after;

	learning.disordered |= begin < learning.last;
	learning.last = begin;
	if (learning.disordered || end <= learning.start)
		return;
	first = begin < learning.start ? 0 : (begin - learning.start) >> SI_BARE_PAGE_BITS;
	after = ((end - 1 - learning.start) >> SI_BARE_PAGE_BITS) + 1;
	keep_run(first < learning.found.pages ? first : learning.found.pages);
	learning.next = after > learning.next ? after : learning.next;
}

void si_bare_code_learn(uintptr_t start, uintptr_t end, const struct si_cfi_view *view)
{
	uint64_t pages = (end - start) >> SI_BARE_PAGE_BITS;

	/* a module without any description says nothing about frame pointers */
	if (!view->table || pages <= si_bare_code.pages)
		return;
	__builtin_memset(&learning, 0, sizeof(learning));
	learning.start = start;
	learning.found.pages = pages;
	learning.next = 1; /* the code's first bytes have no call before them (modules.c) */
	if (!si_cfi_functions(view, pages / 2, describe) || learning.disordered)
		return;
	keep_run(pages);
	si_bare_code = learning.found;
}
