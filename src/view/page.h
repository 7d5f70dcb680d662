/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h: a session as one page for a browser: everything is in the file, and it asks for nothing
 * else.
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
	const char *name;              /* of the session's file */
	const char *command;           /* what was recorded */
	size_t most_samples;           /* with a stack of their own; 0: PAGE_SAMPLES */
	bool full_names;               /* of types */
	bool progress;
	/* Puts what the page shows of other analyses into an object that is open; NULL: nothing.
	 * page/answers.js reads it. */
	void (*put_answers)(const void *answers, struct json *json);
	const void *answers;
	FILE *out;
};
enum { PAGE_SAMPLES = 6000 };

/* What takes passes over the events: two, which it shares (replay_together.h). Of the job it uses
 * the store, the filter, most_samples, full_names and progress. */
struct page;
SHINY_MUST_CHECK struct shiny_err *page_load(const struct page_job *job, struct page **out);
void page_free(struct page *page); /* accepts NULL */
/* Once. */
SHINY_MUST_CHECK struct shiny_err *page_write(const struct page_job *job, struct page *page);

#endif
