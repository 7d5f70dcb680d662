/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match_calls.h: matches call sites without names in two builds of a program.
 *
 * Runs: CLI. Signals: no. Allocates: about 100 bytes a distinct frame and 8 a distinct call between
 * two. Threads: one a store.
 *
 * A linker may put functions in any order, so addresses do not match. The graph of calls in both
 * sessions' stacks does: return addresses and their callers. Some frames are known: those with
 * names (libraries', exported ones), and those in files that both sessions share. The others are
 * told by the blocks that they allocate: types (by vtables with RTTI), sizes, functions of the
 * allocator. From there, labels are refined as in B. Weisfeiler and A. Lehman's test of isomorphism
 * (1968): a frame's next label is made of its own and of those of its callers and callees. A label
 * that exactly one frame of each session has is a match; a matched frame is known from then on, and
 * refinement begins anew. Several frames with one label are matched in the order of their addresses
 * if these are equally far from each other in both sessions: calls in one function with the same
 * code. The search goes from the strictest idea of "the same" (types and sizes of blocks) to the
 * loosest (only calls), and from the widest neighbourhood to the narrowest, so that changed code is
 * matched by the unchanged code around it.
 *
 * It cannot tell apart frames that are alike in all of this, such as two calls for blocks of one
 * size and type in a function whose code has changed, or in two functions called from the same
 * place: they are counted together. A function that was inlined in one build only is not found.
 */
#ifndef SHINY_MATCH_CALLS_H
#define SHINY_MATCH_CALLS_H

#include "breakdown.h"

struct match_feature { /* the blocks of a site */
	uint32_t type;   /* type of most of its blocks: a number that both sessions share */
	uint64_t allocs, least_size, most_size;
	bool present;    /* true if it has blocks */
};
/* Receives a match: sites[0][0 .. counts[0]) of the older session are sites[1][0 .. counts[1]) of
 * the newer one. */
typedef void match_calls_fn(void *context, const uint32_t *const sites[2], const size_t counts[2]);

/* Finds the matches. `open`: site id → the site is still to be matched. */
SHINY_MUST_CHECK struct shiny_err *match_calls(struct store *const stores[2],
					       const struct breakdown *const breakdowns[2],
					       const struct match_feature *const features[2],
					       const bool *const open[2], match_calls_fn *found,
					       void *context);

#endif
