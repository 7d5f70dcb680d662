/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_query.h: finds call sites by the names that users give them.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_SITE_QUERY_H
#define SHINY_SITE_QUERY_H

#include "filter.h"

/* A call site that matches a text. */
struct site_match {
	uint32_t site, frame; /* frame 0: all stacks of the site; else those that begin with it
			       * (module+0x…) */
	char *label, *file, *module; /* NULL: unknown */
	uint32_t line;
	uint64_t allocs, weight; /* weight: sum of allocs and inherited */
};
struct site_matches {
	struct site_match *rows; /* heaviest first */
	size_t count, room;
};
/*
 * Finds the sites of `text`: "#12" (site id), "module+0x1f3", "file:line", "function:line", or a
 * function: its whole name, its name without arguments, or a part of it (* and ? are wildcards).
 * The best reading that finds anything wins: a whole name before a part.
 */
SHINY_MUST_CHECK struct shiny_err *site_query_find(struct store *store, const struct filter *filter,
						   const char *text, struct site_matches *out);
void site_matches_deinit(struct site_matches *places);

#endif
