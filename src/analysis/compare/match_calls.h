/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match_calls.h: call sites without names in two builds of a program.
 *
 * Runs: CLI. Signals: no. Allocates: about 100 bytes a distinct frame and 8 a distinct call between
 * two. Threads: one a store.
 *
 * A linker may put functions in any order, so their addresses say nothing. What stays is the graph
 * of calls that the stacks of both sessions hold: return addresses, and who stands above whom. Some
 * frames in it are known: those with names (libraries', exported ones), those in files that are the
 * same in both sessions. The others are known by the blocks that they make: types (by vtables that
 * have RTTI), sizes, functions of the allocator. From there, labels are refined as in B.
 * Weisfeiler and A. Lehman's test of isomorphism (1968): a frame's next label is made of its own
 * and of those of its callers and callees. A label that exactly one frame of each session has is a
 * match; a matched frame is known from then on, and refinement begins anew. Several frames with one
 * label are matched in the order of their addresses where these are equally far from each other in
 * both sessions: calls of one function, whose code is the same. It goes from the strictest idea of
 * "the same" (types and sizes of blocks) to the loosest (only calls), and from the widest
 * neighbourhood to the narrowest, so that what a change has touched is matched by what it has not
 * touched.
 *
 * What it cannot do: frames that are alike in all of this, such as two calls in a function whose
 * code has changed for blocks of one size and type, or in two functions that are called from the
 * same place; they are counted together. A function that was inlined in one build only is not
 * found.
 */
#ifndef SHINY_MATCH_CALLS_H
#define SHINY_MATCH_CALLS_H

#include "breakdown.h"

struct match_feature { /* of a site: what its blocks are */
	uint32_t type;   /* a number that is the same in both sessions: of most of its blocks */
	uint64_t allocs, least_size, most_size;
	bool present;    /* it has blocks at all */
};
/* What match_calls finds is told here: sites[0][0 .. counts[0]) of the older session are sites[1][0
 * .. counts[1]) of the newer one. */
typedef void match_calls_fn(void *context, const uint32_t *const sites[2], const size_t counts[2]);

/* `open`: by site id, whether a site is still to be matched. */
SHINY_MUST_CHECK struct shiny_err *match_calls(struct store *const stores[2],
					       const struct breakdown *const breakdowns[2],
					       const struct match_feature *const features[2],
					       const bool *const open[2], match_calls_fn *found,
					       void *context);

#endif
