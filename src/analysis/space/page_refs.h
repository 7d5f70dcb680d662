/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_refs.h: lists pairs of a page and an owner with bytes on it at a moment, each once.
 *
 * Runs: CLI. Signals: no. Allocates: 16 to 32 bytes a block. Threads: one.
 */
#ifndef SHINY_PAGE_REFS_H
#define SHINY_PAGE_REFS_H

#include "../query/range_map.h"

struct page_ref {
	uint64_t page; /* its address space's number << (48 - PAGE_SHIFT) | address / 4096 */
	uint64_t who;
};
struct page_refs { /* zeroed: empty */
	struct page_ref *at;
	size_t count, room;
};

/* Adds the pages on which a block begins and ends. Returns the number of pages between: the block
 * fills these alone, and they are not listed. */
uint64_t page_refs_add(struct page_refs *refs, uint64_t who, uint32_t space, uint64_t address,
		       uint64_t size);
/* Sorts by page, then `who`; drops duplicates. */
void page_refs_sort(struct page_refs *refs);
void page_refs_deinit(struct page_refs *refs);

#endif
