/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_page.h: the page of a session, for `html` and `serve`.
 *
 * Runs: CLI. Signals: no. Allocates: as page.h says. Threads: one.
 *
 * Cost: two passes over the events, for all views together.
 */
#ifndef SHINY_SESSION_PAGE_H
#define SHINY_SESSION_PAGE_H

#include "../../view/page.h"
#include "page_answers.h"

struct session_page {
	struct store *store;
	const struct filter *filter;
	const char *path; /* of the session; the page shows its last part */
	size_t most_samples;
	bool full_names, progress;
	bool brief; /* leave out the views that take passes of their own (page_answers.h) */
};

struct session_page_data {
	struct page *page;
	struct page_answers answers; /* unless brief */
};

/* Loads all data, which takes long and can fail, before anything is written. */
SHINY_MUST_CHECK struct shiny_err *session_page_load(const struct session_page *page,
						     struct session_page_data *out);
void session_page_deinit(struct session_page_data *data);
SHINY_MUST_CHECK struct shiny_err *session_page_write(const struct session_page *page,
						      const struct session_page_data *data,
						      FILE *out);

#endif
