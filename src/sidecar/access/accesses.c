/* SPDX-License-Identifier: Apache-2.0 */
/* accesses.c: see accesses.h. */
#define _GNU_SOURCE
#include "accesses.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access_ask.h"
#include "page_uses.h"
#include "watches.h"

enum { WATCH, PAGES, SOURCES };

/* names of rows of table session */
static const char *const spans_keys[SOURCES] = { "access_watch_on", "access_pages_on" };

struct access_span {
	uint64_t from, until; /* ns of the session; until 0: it is on */
};

struct accesses {
	struct watches *watches;     /* NULL: never on */
	struct page_uses *page_uses; /* NULL: never on */
	struct {
		bool on;
		VEC(struct access_span) spans;
	} of[SOURCES];
};

static uint64_t session_now(const struct output *output)
{
	return output->ticks_known ? ticks_ns(&output->ticks, ticks_now(&output->ticks)) : 0;
}

static void switch_source(struct accesses *a, struct output *output, int source, bool on)
{
	struct access_span *last;

	if (a->of[source].on == on)
		return;
	if (!on) {
		if (source == WATCH)
			watches_off(a->watches, output);
		else
			page_uses_off(a->page_uses, output);
		last = &a->of[source].spans.at[a->of[source].spans.count - 1];
		last->until = session_now(output);
	} else if (source == WATCH ? watches_on(&a->watches) : page_uses_on(&a->page_uses)) {
		*vec_push(&a->of[source].spans) = (struct access_span){ session_now(output), 0 };
	} else {
		return;
	}
	a->of[source].on = on;
}

struct accesses *accesses_begin(const struct sidecar_options *options, struct output *output)
{
	struct accesses *a;

	if (options->leftover)
		return NULL;
	a = mem_zero(1, sizeof(*a));
	switch_source(a, output, WATCH, options->watch_accesses);
	switch_source(a, output, PAGES, options->page_accesses);
	return a;
}

/* Removes the file after switching, as the asking process waits for that. */
void accesses_switch(struct accesses *a, struct output *output, int directory, const char *file)
{
	int fd = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[64] = "";
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	struct access_sources sources;

	if (fd >= 0)
		close(fd);
	if (got > 0 && a && access_sources_read(text, &sources)) {
		switch_source(a, output, WATCH, sources.watch);
		switch_source(a, output, PAGES, sources.pages);
	}
	unlinkat(directory, file, 0);
}

void accesses_serve(struct accesses *a, struct output *output, const struct people *people)
{
	if (!a)
		return;
	watches_serve(a->watches, output, people);
	page_uses_serve(a->page_uses, output, people);
}

static void put_spans(const struct accesses *a, struct output *output, int source)
{
	char *text = mem_text("");

	for (size_t i = 0; i < a->of[source].spans.count; i++) {
		const struct access_span *span = &a->of[source].spans.at[i];
		char *longer = mem_format("%s%s%" PRIu64 "-%" PRIu64, text, i ? " " : "",
					  span->from, span->until);

		free(text);
		text = longer;
	}
	if (*text)
		OUTPUT_PUT(output, store_put_text, spans_keys[source], text);
	free(text);
}

void accesses_end(struct accesses *a, struct output *output)
{
	const char *sources;

	if (!a)
		return;
	sources = a->watches && a->page_uses ? "watch,pages"
		  : a->watches		     ? "watch"
		  : a->page_uses	     ? "pages"
					     : NULL;
	for (int source = 0; source < SOURCES; source++) {
		switch_source(a, output, source, false);
		put_spans(a, output, source);
	}
	watches_end(a->watches, output);
	page_uses_end(a->page_uses, output);
	if (sources)
		OUTPUT_PUT(output, store_put_text, "access", sources);
}

void accesses_put_types(struct accesses *a, struct output *output)
{
	if (a)
		watches_put_types(a->watches, output);
}

void accesses_destroy(struct accesses *a)
{
	if (!a)
		return;
	for (int source = 0; source < SOURCES; source++)
		free(a->of[source].spans.at);
	watches_destroy(a->watches);
	page_uses_destroy(a->page_uses);
	free(a);
}
