/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_history.h: keeps the lifetime states of all objects that ever lay on each page of an address
 * space.
 *
 * Runs: CLI. Signals: no. Allocates: 512 bytes a range of 2 MiB in which an object ended; 32 one
 * that a single object filled. Threads: one.
 */
#ifndef SHINY_PAGE_HISTORY_H
#define SHINY_PAGE_HISTORY_H

#include "../query/range_map.h"

/* The taxonomy of lifetimes.h, as bits of a set. */
enum page_state {
	PAGE_DESTROYED = 1,
	PAGE_REUSED = 2,
	PAGE_PERSISTENT = 4,
	PAGE_ZOMBIE = 8, /* persistent and untouched: touched.h */
	PAGE_SETS = 16
};
extern const char *const page_set_names[PAGE_SETS]; /* "R+P"; of the empty set "-" */

struct page_history { /* zeroed: empty */
	struct range_map map;
};

/* Adds the state of an object to the pages where it lay. */
void page_history_mark(struct page_history *history, uint64_t address, uint64_t size,
		       enum page_state state);

/* Calls `each` for every used range, ascending, with the sets of its 512 pages. */
typedef void page_history_fn(void *context, uint64_t range, const uint8_t sets[RANGE_PAGES]);
void page_history_each(const struct page_history *history, page_history_fn *each, void *context);
void page_history_deinit(struct page_history *history);

#endif
