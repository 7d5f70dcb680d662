/* SPDX-License-Identifier: Apache-2.0 */
#include "closing.h"

#include <errno.h>
#include <sys/stat.h>

#include "../../analysis/totals/headlines.h"
#include "../../base/cleanup.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../output_guard.h"

/* Prints the headlines of the finished file; prints nothing if it cannot be read any more. */
static void print_headlines(const char *path, const struct style *style)
{
	struct headlines headlines = { 0 };
	struct store *store;
	struct shiny_err *err = store_open(path, &store);

	if (!err) {
		err = headlines_load(store, 1, &headlines);
		store_close(store);
	}
	for (size_t i = 0; i < headlines.count; i++)
		fprintf(stderr, "shinyctl: %s%s%s\n", tint(style, TINT_WARN),
			headlines.rows[i].text, tint_end(style, TINT_WARN));
	headlines_deinit(&headlines);
	shiny_err_free(err);
}

void closing_print(const struct sidecar_summary *s, bool quiet)
{
	AUTO_FREE char *path = text_shell(s->path);
	const char *advice = loss_advice(&s->lost);
	char words[LOSS_WORDS];
	struct style style;
	struct stat st;

	style_init(&style, stderr, output_guard_fd(stderr), false);
	if (!quiet) {
		fprintf(stderr, "shinyctl: %s%s%s", tint(&style, TINT_BOLD), path,
			tint_end(&style, TINT_BOLD));
		if (stat(s->path, &st) == 0)
			fprintf(stderr, " (%s)", units_bytes(UNITS_BUF, (uint64_t)st.st_size));
		fprintf(stderr, ": %s, %s\n", units_noun(UNITS_NOUN_BUF, s->processes, "process"),
			units_time(UNITS_BUF, s->duration));
		fprintf(stderr, "shinyctl: %s, %s, %s live (%s)",
			units_noun(UNITS_NOUN_BUF, s->allocs, "allocation"),
			units_noun(UNITS_NOUN_BUF, s->frees, "free"),
			units_noun(UNITS_NOUN_BUF, s->live, "block"),
			units_bytes(UNITS_BUF, s->live_bytes));
		if (s->abandoned)
			fprintf(stderr, ", %s abandoned (%s)", units_count(UNITS_BUF, s->abandoned),
				units_bytes(UNITS_BUF, s->abandoned_bytes));
		fprintf(stderr, ", %s, %s\n", units_noun(UNITS_NOUN_BUF, s->types, "type"),
			units_noun(UNITS_NOUN_BUF, s->sites, "call site"));
	}
	if (s->log_left)
		fprintf(stderr,
			"shinyctl: the disk did not take all of %s: the rest is in %s-wal, without "
			"which it cannot be read\n",
			path, path);
	if (loss_any(&s->lost))
		fprintf(stderr, "shinyctl: %slost:%s %s; `shinyctl report` says why%s%s\n",
			tint(&style, TINT_BAD), tint_end(&style, TINT_BAD),
			loss_words(&s->lost, words), advice ? "; " : "", advice ? advice : "");
	else if (!quiet)
		fprintf(stderr, "shinyctl: lost: nothing\n");
	if (!quiet)
		print_headlines(s->path, &style);
	if (s->unprobed && !quiet)
		fprintf(stderr, "shinyctl: not seen: objects of Chromium's garbage collector; it "
				"has been probed now, so the next recording has them\n");
	if (!quiet)
		fprintf(stderr, "shinyctl: next: shinyctl report %s\n", path);
}

void closing_json(struct json *json, const struct sidecar_summary *s)
{
	json_text(json, "path", s->path);
	json_number(json, "processes", s->processes);
	json_number(json, "threads", s->threads);
	json_number(json, "events", s->events);
	json_number(json, "allocs", s->allocs);
	json_number(json, "frees", s->frees);
	json_number(json, "live", s->live);
	json_number(json, "live_bytes", s->live_bytes);
	json_number(json, "abandoned", s->abandoned);
	json_number(json, "abandoned_bytes", s->abandoned_bytes);
	json_number(json, "lost", s->lost.events);
	json_number(json, "lost_chunks", s->lost.chunks);
	json_number(json, "types", s->types);
	json_number(json, "sites", s->sites);
	json_number(json, "duration_ns", s->duration);
}

struct shiny_err *closing_write(const struct sidecar_summary *summary, const char *path)
{
	FILE *out = fopen(path, "we");
	struct json json;
	bool failed;

	if (!out)
		return shiny_err_os(errno, "cannot write the summary to %s", path);
	json_init(&json, out);
	json_object(&json, NULL);
	closing_json(&json, summary);
	json_end(&json);
	failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed)
		return shiny_err_os(errno, "cannot write the summary to %s", path);
	return NULL;
}
