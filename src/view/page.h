/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h: writes a session as one page for a browser; the file loads nothing else.
 *
 * Runs: CLI. Signals: no. Allocates: what profile.h, replay.h and cube_cells.h say, and the
 * page's data twice. Threads: one a store.
 */
#ifndef SHINY_PAGE_H
#define SHINY_PAGE_H

#include <stdio.h>

#include "../base/json.h"
#include "profile.h"

struct page_job {
	struct store *store;
	const struct filter *filter;
	const char *name;              /* name of the session's file */
	const char *command;           /* the recorded command line */
	size_t most_samples;           /* rows with a stack of their own; 0: PAGE_SAMPLES */
	bool full_names;               /* full names of types */
	bool progress;
	/* Puts results of other analyses into the open object, for page/answers.js; NULL: none. */
	struct shiny_err *(*put_answers)(const void *answers, struct json *json);
	const void *answers;
	FILE *out;
};
enum { PAGE_SAMPLES = 6000 };

/* Loads the data that need passes over the events: two, shared with others (replay_together.h).
 * Uses only the job's store, filter, most_samples, full_names and progress. */
struct page;
SHINY_MUST_CHECK struct shiny_err *page_load(const struct page_job *job, struct page **out);
void page_free(struct page *page); /* accepts NULL */
/* Writes the page. Call once. */
SHINY_MUST_CHECK struct shiny_err *page_write(const struct page_job *job, struct page *page);

#endif
