/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_page.h: the page of two sessions, for `html BASE NEW` and `serve`: the rows of `diff` by
 * type, call site and component, and the stacks of both as one tree.
 *
 * Runs: CLI. Signals: no. Allocates: what diff.h says three times, a profile (profile.h), what
 * page_compare.h says. Threads: replay_together.h's.
 */
#ifndef SHINY_COMPARE_PAGE_H
#define SHINY_COMPARE_PAGE_H

#include <stdio.h>

#include "../../analysis/query/filter.h"

enum { COMPARE_ROWS = 2000 }; /* most rows of each diff table */

struct compare_page { /* base, new */
	struct store *stores[2];
	const struct filter *filters; /* [2]: base, new */
	const char *paths[2];         /* of the sessions; the page shows the last part of each */
	bool full_names, progress;
};

/* Writes the page; loads all data first. */
SHINY_MUST_CHECK struct shiny_err *compare_page_write(const struct compare_page *page, FILE *out);

#endif
