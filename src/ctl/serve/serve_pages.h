/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_pages.h: the documents of `serve`: a list of the sessions, a page of each, a comparison of
 * any two; and the profile of each.
 *
 * Runs: CLI. Signals: no. Allocates: as page.h says. Threads: one.
 */
#ifndef SHINY_SERVE_PAGES_H
#define SHINY_SERVE_PAGES_H

#include "serve_http.h"

struct serve_pages {
	char **files; /* paths of sessions */
	size_t count;
	size_t most_samples;
};

/*
 * A serve_fn; `context`: struct serve_pages. Addresses:
 *   ""     the page, of one session; the list, of several
 *   N      the page of session N, from 0
 *   A/B    the page that compares B with A
 *   debug/pprof/heap, N/debug/pprof/heap
 *          the one session, or session N, as pprof's profile, packed, as Go's programs serve theirs
 * A session that is being written is sampled (live_sample.h), and the browser reloads.
 */
struct shiny_err *serve_pages_document(void *context, const char *path,
				       struct serve_document *out);

#endif
