/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_refs.h: who has something on which page at a moment, each pair once.
 *
 * Runs: CLI. Signals: no. Allocates: 16 to 32 bytes a block. Threads: one.
 */
#ifndef SHINY_PAGE_REFS_H
#define SHINY_PAGE_REFS_H

#include "../query/range_map.h"

struct page_ref {
	uint64_t page; /* of an address space: its number << (48 - PAGE_SHIFT) | address / 4096 */
	uint64_t who;
};
struct page_refs { /* zeroed: empty */
	struct page_ref *at;
	size_t count, room;
};

/* The pages on which a block begins and ends. Returns how many it fills in between: those are
 * nobody else's, and are not kept. */
uint64_t page_refs_add(struct page_refs *refs, uint64_t who, uint32_t space, uint64_t address,
		       uint64_t size);
/* In the order of pages, then of who; each once. */
void page_refs_sort(struct page_refs *refs);
void page_refs_deinit(struct page_refs *refs);

#endif
