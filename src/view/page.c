/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c: see page.h.
 *
 * The page is a template, page/page.html, with the session's data in it: JSON, compressed (gzip)
 * and in base64, so that no name of the program is ever markup, and a browser's own
 * DecompressionStream reads it. What the page shows it adds up itself from the data: page/page.js.
 */
#include "page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../analysis/attribute/groups.h"
#include "../analysis/replay/replay_together.h"
#include "../analysis/time/activity.h"
#include "../analysis/time/marks.h"
#include "../analysis/totals/headlines.h"
#include "../analysis/totals/losses.h"
#include "../base/cleanup.h"
#include "../base/json.h"
#include "page_cube.h"
#include "page_data.h"

enum { PAGE_INTERVALS = 100, PAGE_MOST = 1 << 30 };
#define PAGE_PLACE "@DATA@" /* in the template */

extern const char page_template[], page_template_end[];
__asm__(".pushsection .rodata\n"
	".global page_template, page_template_end\n"
	"page_template: .incbin \"src/view/page/page.html\"\n"
	"page_template_end: .byte 0\n"
	".popsection");

/* ---- gzip and base64 ---- */

static struct shiny_err *put_packed(FILE *out, const char *text, size_t count)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	enum { GZIP = 16 };
	z_stream z = { 0 };
	AUTO_FREE uint8_t *packed = NULL;
	size_t room, used;

	if (count > PAGE_MOST)
		return shiny_err(SHINY_ERR_OTHER, "the page would be too large: --stacks-most");
	if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP + MAX_WBITS, 9,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return shiny_err(SHINY_ERR_OTHER, "cannot pack the page: out of memory");
	room = deflateBound(&z, count);
	packed = mem_zero(room + 3, 1);
	z.next_in = (Bytef *)(uintptr_t)text;
	z.next_out = packed;
	z.avail_in = (uInt)count;
	z.avail_out = (uInt)room;
	deflate(&z, Z_FINISH);
	used = z.total_out;
	deflateEnd(&z);
	for (size_t i = 0; i < used; i += 3) {
		uint32_t word = (uint32_t)packed[i] << 16 | (uint32_t)packed[i + 1] << 8 |
				packed[i + 2];

		for (unsigned k = 0; k < 4; k++)
			putc(k <= used - i ? digits[word >> (18 - 6 * k) & 63] : '=', out);
	}
	return NULL;
}

/* ---- the data ---- */

static void put_losses(struct json *json, const struct losses *losses)
{
	json_number(json, "lost", losses->lost);
	json_bool(json, "complete", !losses->incomplete);
	json_array(json, "losses");
	for (size_t i = 0; i < losses->count; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", losses->rows[i].name);
		json_bool(json, "loss", losses->rows[i].loss);
		json_number(json, "count", losses->rows[i].count);
		json_text(json, "text", losses->rows[i].text);
		json_text(json, "advice", losses->rows[i].advice);
		json_end(json);
	}
	json_end(json);
}

static void put_activity(struct json *json, const struct activity *activity)
{
	json_number(json, "interval_ns", activity->interval);
	json_number(json, "intervals", activity->count);
	json_number(json, "series_first", activity->total.first);
	json_array_line(json, "series");
	for (size_t i = 0; i < activity->total.count; i++)
		json_number(json, NULL, activity->total.points[i].bytes);
	json_end(json);
	json_array(json, "phases");
	for (size_t i = 0; i < activity->phase_count; i++) {
		const struct phase *phase = &activity->phases[i];

		json_object_line(json, NULL);
		json_text(json, "kind", phase_kind_names[phase->kind]);
		json_number(json, "begin_ns", phase->begin);
		json_number(json, "end_ns", phase->end);
		json_number(json, "begin_bytes", phase->begin_bytes);
		json_number(json, "end_bytes", phase->end_bytes);
		json_number(json, "allocs", phase->allocs);
		json_end(json);
	}
	json_end(json);
}

static void put_marks(struct json *json, const struct marks *marks)
{
	json_array(json, "marks");
	for (size_t i = 1; i < marks->count; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", marks->rows[i].name);
		json_number(json, "ns", marks->rows[i].time);
		json_end(json);
	}
	json_end(json);
}

static struct shiny_err *put_head(struct json *json, const struct page_job *job)
{
	const struct profile *p = job->profile;
	struct losses losses = { 0 };
	struct headlines headlines = { 0 };
	struct shiny_err *err = losses_load(job->store, &losses);

	if (!err)
		err = headlines_load(job->store, &headlines);
	if (err) {
		losses_deinit(&losses);
		return err;
	}
	json_text(json, "version", SHINY_VERSION_TEXT);
	json_text(json, "name", job->name);
	json_text(json, "command", job->command);
	json_number(json, "duration_ns", p->duration);
	json_number(json, "peak_ns", p->peak_time);
	json_number(json, "peak_bytes", p->peak_bytes);
	json_number(json, "peak_blocks", p->peak);
	put_losses(json, &losses);
	json_array(json, "headlines");
	for (size_t i = 0; i < headlines.count; i++) {
		json_object_line(json, NULL);
		json_text(json, "text", headlines.rows[i].text);
		json_text(json, "verb", headlines.rows[i].verb);
		json_end(json);
	}
	json_end(json);
	losses_deinit(&losses);
	headlines_deinit(&headlines);
	return NULL;
}

/* What takes a pass over the events, which they share. */
struct page_times {
	const struct page_job *job;
	uint64_t interval;
	struct activity activity;
	struct marks marks;
	struct page_cube cube;
};

static struct shiny_err *load_activity(void *context)
{
	struct page_times *t = context;
	const struct page_job *job = t->job;

	return activity_load(job->store, job->filter, t->interval,
			     ACTIVITY_PHASES | (job->progress ? ACTIVITY_PROGRESS : 0),
			     &t->activity);
}

static struct shiny_err *load_marks(void *context)
{
	struct page_times *t = context;

	return marks_load(t->job->store, t->job->filter, t->job->progress, &t->marks);
}

static struct shiny_err *load_cube(void *context)
{
	struct page_times *t = context;

	return page_cube_load(t->job->store, t->job->filter, t->job->progress, &t->cube);
}

static struct shiny_err *times_load(struct page_times *times)
{
	const struct replay_task tasks[] = { { load_activity, times },
					     { load_marks, times },
					     { load_cube, times } };

	return replay_together(tasks, sizeof(tasks) / sizeof(*tasks));
}

static void times_deinit(struct page_times *times)
{
	activity_deinit(&times->activity);
	marks_deinit(&times->marks);
	page_cube_deinit(&times->cube);
}

static struct shiny_err *put_data(struct json *json, const struct page_job *job)
{
	struct page_samples samples = { 0 };
	uint64_t interval = job->profile->duration / PAGE_INTERVALS + 1;
	struct page_times times = { .job = job,
				    .interval = interval,
				    .cube = { .profile = job->profile, .interval = interval } };
	struct shiny_err *err;

	json_object(json, NULL);
	err = put_head(json, job);
	if (!err)
		err = page_samples_load(job->store, job->profile,
					job->most_samples ? job->most_samples : PAGE_SAMPLES,
					&samples);
	if (!err) {
		times.cube.kept = samples.kept;
		err = times_load(&times);
	}
	if (!err) {
		put_activity(json, &times.activity);
		put_marks(json, &times.marks);
		err = page_samples_put(json, job->store, job->profile, &samples);
	}
	if (!err) {
		page_cells_put(json, "lives", &times.cube.lives, true);
		page_cells_put(json, "changes", &times.cube.changes, false);
	}
	if (!err && job->put_answers) {
		json_object(json, "answers");
		job->put_answers(job->answers, json);
		json_end(json);
	}
	json_end(json);
	times_deinit(&times);
	page_samples_deinit(&samples);
	return err;
}

struct shiny_err *page_write(const struct page_job *job)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FILE *memory = mem_stream_open(&text, &size);
	const char *place = strstr(page_template, PAGE_PLACE);
	struct json json;
	struct shiny_err *err;

	json_init(&json, memory);
	err = put_data(&json, job);
	mem_stream_close(memory);
	if (err)
		return err;
	fwrite(page_template, 1, (size_t)(place - page_template), job->out);
	err = put_packed(job->out, text, size);
	place += strlen(PAGE_PLACE);
	fwrite(place, 1, (size_t)(page_template_end - place), job->out);
	return err;
}
