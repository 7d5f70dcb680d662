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

static const struct access_source {
	const char *key; /* name of a row of table session */
	bool (*on)(struct session *session); /* false: it is not available */
	void (*off)(struct session *session);
} access_sources[SOURCES] = {
	[WATCH] = { "access_watch_on", watches_on, watches_off },
	[PAGES] = { "access_pages_on", page_uses_on, page_uses_off },
};

struct access_span {
	uint64_t from, until; /* ns of the session; until 0: it is on */
};

struct accesses {
	struct {
		bool on;
		VEC(struct access_span) spans;
	} of[SOURCES];
};

static uint64_t session_now(const struct output *output)
{
	return output->ticks_known ? ticks_ns(&output->ticks, ticks_now(&output->ticks)) : 0;
}

static void switch_source(struct session *session, int source, bool on)
{
	struct accesses *a = session->accesses;
	struct access_span *last;

	if (a->of[source].on == on)
		return;
	if (!on) {
		access_sources[source].off(session);
		last = &a->of[source].spans.at[a->of[source].spans.count - 1];
		last->until = session_now(&session->output);
	} else if (access_sources[source].on(session)) {
		*vec_push(&a->of[source].spans) =
			(struct access_span){ session_now(&session->output), 0 };
	} else {
		return;
	}
	a->of[source].on = on;
}

void accesses_begin(struct session *session)
{
	const struct sidecar_options *options = session->options;

	if (options->leftover)
		return;
	session->accesses = mem_zero(1, sizeof(*session->accesses));
	switch_source(session, WATCH, options->watch_accesses);
	switch_source(session, PAGES, options->page_accesses);
}

/* Removes the file after switching, as the asking process waits for that. */
void accesses_switch(struct session *session, int directory, const char *file)
{
	int fd = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[64] = "";
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	struct access_sources sources;

	if (fd >= 0)
		close(fd);
	if (got > 0 && session->accesses && access_sources_read(text, &sources)) {
		switch_source(session, WATCH, sources.watch);
		switch_source(session, PAGES, sources.pages);
	}
	unlinkat(directory, file, 0);
}

void accesses_serve(struct session *session)
{
	watches_serve(session);
	page_uses_serve(session);
}

static void put_spans(struct session *session, int source)
{
	char *text = mem_text("");

	for (size_t i = 0; i < session->accesses->of[source].spans.count; i++) {
		const struct access_span *span = &session->accesses->of[source].spans.at[i];
		char *longer = mem_format("%s%s%" PRIu64 "-%" PRIu64, text, i ? " " : "",
					  span->from, span->until);

		free(text);
		text = longer;
	}
	if (*text)
		output_fail(&session->output, store_put_text(session->output.store,
							     access_sources[source].key, text));
	free(text);
}

void accesses_end(struct session *session)
{
	const char *sources = session->watches && session->page_uses ? "watch,pages"
			      : session->watches		     ? "watch"
			      : session->page_uses		     ? "pages"
								     : NULL;

	for (int source = 0; session->accesses && source < SOURCES; source++) {
		switch_source(session, source, false);
		put_spans(session, source);
	}
	watches_end(session);
	page_uses_end(session);
	if (sources)
		output_fail(&session->output,
			    store_put_text(session->output.store, "access", sources));
}

void accesses_destroy(struct session *session)
{
	for (int source = 0; session->accesses && source < SOURCES; source++)
		free(session->accesses->of[source].spans.at);
	free(session->accesses);
	watches_destroy(session->watches);
	page_uses_destroy(session->page_uses);
}
