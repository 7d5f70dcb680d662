/* SPDX-License-Identifier: Apache-2.0 */
/* serve_pages.c: see serve_pages.h. */
#define _GNU_SOURCE
#include "serve_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../view/export.h"
#include "../../view/gzip.h"
#include "compare_page.h"
#include "../live/live_sample.h"
#include "session_page.h"

#define HEAP_PATH "debug/pprof/heap"
enum { REFRESH_LEAST = 5 }; /* seconds */

/* A session that is served. */
struct served {
	const char *file;
	struct live_work work; /* work.directory "": not needed */
	struct store *store;
	struct filter filter;
	bool written;
};

static void served_close(struct served *session)
{
	filter_deinit(&session->filter);
	store_close(session->store);
	if (session->written)
		live_work_stop(&session->work);
}

static struct shiny_err *served_open(const char *file, struct served *out)
{
	AUTO_FREE char *path = NULL;
	struct shiny_err *err = NULL;
	bool ended = true;

	*out = (struct served){ .file = file, .written = store_is_written(file) };
	if (out->written) {
		out->work = (struct live_work){ .file = file, .with_events = true };
		SHINY_TRY(live_work_ask(&out->work));
		SHINY_TRY(live_work_file(&out->work, &path, &ended));
	}
	err = store_open(path ? path : file, &out->store);
	if (!err)
		err = filter_load(out->store, &(struct filter_names){ 0 }, &out->filter);
	if (err)
		served_close(out);
	return err;
}

static struct shiny_err *write_session(const struct serve_pages *pages, struct served *session,
				       FILE *out)
{
	struct session_page page = { .store = session->store,
				     .filter = &session->filter,
				     .path = session->file,
				     .most_samples = pages->most_samples,
				     .brief = session->written };
	struct session_page_data data;
	struct shiny_err *err;

	SHINY_TRY(session_page_load(&page, &data));
	err = session_page_write(&page, &data, out);
	session_page_deinit(&data);
	return err;
}

static struct shiny_err *session_document(const struct serve_pages *pages, size_t index,
					  FILE *out, unsigned *refresh)
{
	time_t began = time(NULL);
	struct served session;
	struct shiny_err *err;

	SHINY_TRY(served_open(pages->files[index], &session));
	err = write_session(pages, &session, out);
	if (session.written) { /* at most a fifth of the time is spent on it */
		unsigned took = (unsigned)(time(NULL) - began);

		*refresh = 4 * took > REFRESH_LEAST ? 4 * took : REFRESH_LEAST;
	}
	served_close(&session);
	return err;
}

/* ---- several ---- */

static void put_text(FILE *out, const char *text)
{
	AUTO_FREE char *plain = text_plain(text);

	for (const char *s = plain; *s; s++)
		switch (*s) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default: putc(*s, out); break;
		}
}

static void put_head(FILE *out, const char *title)
{
	fprintf(out,
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
		"name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<link rel=\"icon\" href=\"data:,\"><title>%s</title>\n"
		"<style>body{font:15px system-ui,sans-serif;margin:2rem;max-width:75rem}"
		"td,th{padding:.2rem .8rem;text-align:right}td:last-child,th:last-child"
		"{text-align:left;overflow-wrap:anywhere}</style></head>\n"
		"<body><main><h1>%s</h1>\n",
		title, title);
}

static void list_document(const struct serve_pages *pages, FILE *out)
{
	put_head(out, "Sessions");
	fputs("<ul>\n", out);
	for (size_t i = 0; i < pages->count; i++) {
		fprintf(out, "<li><a href=\"%zu\">", i);
		put_text(out, pages->files[i]);
		fputs("</a>", out);
		if (store_is_written(pages->files[i]))
			fputs(" (being recorded)", out);
		for (size_t base = 0; base < pages->count; base++) {
			if (base == i)
				continue;
			fprintf(out, "<br><a href=\"%zu/%zu\">compared with ", base, i);
			put_text(out, text_base(pages->files[base]));
			fputs("</a>", out);
		}
		fputs("</li>\n", out);
	}
	fputs("</ul></main></body></html>\n", out);
}

static struct shiny_err *diff_document(const struct serve_pages *pages, const size_t which[2],
				       FILE *out)
{
	struct served sessions[2];
	struct shiny_err *err;

	SHINY_TRY(served_open(pages->files[which[0]], &sessions[0]));
	err = served_open(pages->files[which[1]], &sessions[1]);
	if (err) {
		served_close(&sessions[0]);
		return err;
	}
	const struct filter filters[2] = { sessions[0].filter, sessions[1].filter };
	const struct compare_page page = { .stores = { sessions[0].store, sessions[1].store },
					   .filters = filters,
					   .paths = { sessions[0].file, sessions[1].file } };

	err = compare_page_write(&page, out);
	served_close(&sessions[0]);
	served_close(&sessions[1]);
	return err;
}

/* ---- the profile ---- */

static struct shiny_err *load_profile(struct served *session, char **text, size_t *bytes)
{
	SHINY_CLEANUP(profile_deinit) struct profile profile = { 0 };

	SHINY_TRY(profile_load(session->store, session->store, &session->filter, PROFILE_TAGS,
			       &profile));
	return export_memory(session->store, &session->filter, &profile, export_pprof,
			     (struct label_choice){ .kinds = LABELS_ALL }, NULL, text, bytes);
}

static struct shiny_err *profile_document(const char *file, struct serve_document *document)
{
	AUTO_FREE char *text = NULL;
	size_t bytes = 0;
	struct served session;
	struct shiny_err *err;

	SHINY_TRY(served_open(file, &session));
	err = load_profile(&session, &text, &bytes);
	served_close(&session);
	if (err)
		return err;
	document->packed = true;
	document->text = gzip_whole(text, bytes, &document->bytes);
	return document->text ? NULL : shiny_err(SHINY_ERR_OTHER, "cannot pack the profile");
}

/* ---- addresses ---- */

/* Reads the number at *path, and moves *path behind it; false: none below `count`. */
static bool read_number(const char **path, size_t count, size_t *out)
{
	size_t number = 0, digits = strspn(*path, "0123456789");

	if (!digits || digits > 4)
		return false;
	for (size_t i = 0; i < digits; i++)
		number = number * 10 + (size_t)((*path)[i] - '0');
	*path += digits;
	*out = number;
	return number < count;
}

struct shiny_err *serve_pages_document(void *context, const char *path,
				       struct serve_document *document)
{
	const struct serve_pages *pages = context;
	size_t which[2] = { 0, 0 };
	bool list = !*path && pages->count > 1, pair = false;
	struct shiny_err *err = NULL;
	FILE *out;

	*document = (struct serve_document){ 0 };
	if (strcmp(path, HEAP_PATH) == 0 && pages->count == 1)
		return profile_document(pages->files[0], document);
	if (*path) {
		if (!read_number(&path, pages->count, &which[0]))
			return NULL;
		pair = *path == '/';
		path += pair;
		if (pair && strcmp(path, HEAP_PATH) == 0)
			return profile_document(pages->files[which[0]], document);
		if (pair && !read_number(&path, pages->count, &which[1]))
			return NULL;
		if (*path)
			return NULL;
	}
	out = mem_stream_open(&document->text, &document->bytes);
	if (list)
		list_document(pages, out);
	else
		err = pair ? diff_document(pages, which, out)
			   : session_document(pages, which[0], out, &document->refresh);
	fclose(out);
	if (err) {
		free(document->text);
		document->text = NULL;
	}
	return err;
}
