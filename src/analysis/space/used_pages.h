/* SPDX-License-Identifier: Apache-2.0 */
/*
 * used_pages.h: keeps the groups of blocks that ever lay on each page of an address space, a bit a
 * group.
 *
 * Runs: CLI. Signals: no. Allocates: 2 KiB a range of 2 MiB in which a block began or ended; 16
 * bytes one that a block filled. Threads: one.
 */
#ifndef SHINY_USED_PAGES_H
#define SHINY_USED_PAGES_H

#include "../query/range_map.h"

struct used_pages { /* zeroed: empty */
	struct range_map map;
};

/* Marks the pages of a block of group 0 to 31. Only the first TiB of a larger block, which no
 * machine has. */
void used_pages_mark(struct used_pages *used, uint64_t address, uint64_t size, unsigned group);

/* Gets a number of pages with this set of groups; a set may come several times. */
typedef void used_pages_fn(void *context, uint32_t groups, uint64_t pages);
void used_pages_each(const struct used_pages *used, used_pages_fn *each, void *context);
void used_pages_deinit(struct used_pages *used);

#endif
