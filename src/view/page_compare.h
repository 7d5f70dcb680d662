/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_compare.h: the stacks of two sessions as one tree of functions by name, with what each
 * session has in each: for the flame graph of `html BASE NEW`.
 *
 * Runs: CLI. Signals: no. Allocates: 100 bytes a node, and each name once (mem.h). Threads: one.
 *
 * Functions of one name are one node, so builds with different addresses compare. The number of
 * nodes put is bounded: the lightest, by their larger share of the two sessions, become "(smaller
 * stacks)" of their callers. Sums stay exact.
 */
#ifndef SHINY_PAGE_COMPARE_H
#define SHINY_PAGE_COMPARE_H

#include "../base/hash_table.h"
#include "../base/json.h"
#include "profile.h"

enum compare_measure { COMPARE_LIVE, COMPARE_BYTES, COMPARE_ALLOCS, COMPARE_MEASURES };

struct compare_node {
	uint32_t parent, name, nameless, file, line; /* but parent, line: indexes of `texts` */
	uint64_t sums[2][COMPARE_MEASURES]; /* of stacks that end here; [0] base, [1] new */
};
struct page_compare { /* zeroed: empty */
	struct texts texts;
	struct hash_table table;
	VEC(struct compare_node) nodes; /* [0] is the root; a node comes after its parent */
	uint64_t totals[2][COMPARE_MEASURES];
};

/* Adds a session's stacks. `side`: 0 base, 1 new. */
void page_compare_add(struct page_compare *compare, const struct profile *profile, int side);
/* Puts the tree into the open object, with at most `most` nodes. */
void page_compare_put(struct page_compare *compare, struct json *json, size_t most);
void page_compare_deinit(struct page_compare *compare);

#endif
