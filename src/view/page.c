/* SPDX-License-Identifier: Apache-2.0 */
/* page.c: see page.h. The page computes what it shows from the data, in page/page.js. */
#include "page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../analysis/attribute/groups.h"
#include "../analysis/replay/replay_together.h"
#include "../analysis/time/activity.h"
#include "../analysis/time/marks.h"
#include "../analysis/totals/headlines.h"
#include "../base/cleanup.h"
#include "../base/json.h"
#include "page_cube.h"
#include "page_data.h"
#include "page_file.h"
#include "page_tree.h"

/* The most rows without a stack, and cells of the cube, for each row with one. A cell takes about
 * 1.7 bytes of the file (bench/results/page.txt). */
enum { ROWS_A_STACK = 4, CELLS_A_STACK = 250 };
_Static_assert((int)ACTIVITY_USUAL <= (int)CUBE_INTERVALS, "a cell's place has so many");

struct page {
	const struct page_job *job; /* only during page_load() */
	uint64_t interval;
	struct profile profile;
	struct page_limits limits; /* limits of `samples` */
	struct page_samples samples;
	uint32_t *finest; /* samples.kept before the first fold */
	struct activity activity;
	struct marks marks;
	struct page_cube cube;
};

static struct page_limits limits_of(const struct page_job *job)
{
	size_t most = job->most_samples ? job->most_samples : PAGE_SAMPLES;

	return (struct page_limits){ .stacks = most, .rows = most * ROWS_A_STACK };
}

static struct shiny_err *load_activity(void *context)
{
	struct page *p = context;
	const struct page_job *job = p->job;

	unsigned flags = ACTIVITY_PHASES | ACTIVITY_NO_PAGES | ACTIVITY_NO_TYPES |
			 (job->progress ? ACTIVITY_PROGRESS : 0);

	return activity_load(job->store, job->filter, p->interval, flags, &p->activity);
}

/* Lowers the limits until the cells are few enough; if that fails, folds the makers. The cube's
 * thread calls it. */
static void fold(void *context)
{
	struct page *p = context;
	struct page_cube *cube = &p->cube;

	if (cube->many_makers && !cube->makers_folded)
		page_cube_fold_makers(cube);
	while (page_cube_cells(cube) > cube->most && p->limits.rows > 1) {
		uint32_t *into;

		p->limits.stacks /= 2;
		p->limits.rows /= 2;
		into = page_samples_fold(&p->samples, &p->profile, &p->limits);
		page_cube_fold(cube, into);
		cube->kept = p->samples.kept;
		free(into);
	}
	if (page_cube_cells(cube) <= cube->most)
		return;
	if (!cube->makers_folded)
		page_cube_fold_makers(cube);
	cube->most = SIZE_MAX; /* nothing is left to fold */
}

/* Finds the peak in one pass over the events, and the samples' counts by interval in another. */
static struct shiny_err *load_cube(void *context)
{
	struct page *p = context;
	const struct page_job *job = p->job;
	unsigned flags = PROFILE_PEAK | (job->progress ? PROFILE_PROGRESS : 0) |
			 (job->full_names ? PROFILE_FULL_NAMES : 0);

	SHINY_TRY(profile_load(job->store, job->store, job->filter, flags, &p->profile));
	p->limits = limits_of(job);
	SHINY_TRY(page_samples_load(job->store, &p->profile, &p->limits, &p->samples));
	p->finest = mem_alloc((p->profile.sample_count + 1) * sizeof(*p->finest));
	memcpy(p->finest, p->samples.kept, (p->profile.sample_count + 1) * sizeof(*p->finest));
	p->cube = (struct page_cube){ .profile = &p->profile,
				      .kept = p->samples.kept,
				      .finest = p->finest,
				      .most = p->limits.stacks * CELLS_A_STACK,
				      .fold = fold,
				      .context = p,
				      .interval = p->interval };
	SHINY_TRY(page_cube_load(job->store, job->filter, job->progress, &p->cube));
	page_cube_sort(&p->cube);
	return NULL;
}

struct shiny_err *page_load(const struct page_job *job, struct page **out)
{
	struct page *p = mem_zero(1, sizeof(*p));
	const struct replay_task tasks[] = { { load_cube, p }, { load_activity, p } };
	uint64_t duration = 0;
	struct shiny_err *err = session_duration(job->store, &duration);

	/* that of `shinyctl activity`, so that the phases are the same */
	p->interval = activity_usual_interval(duration);
	p->job = job;
	if (!err)
		err = marks_read(job->store, job->filter, &p->marks);
	if (!err)
		err = replay_together(tasks, sizeof(tasks) / sizeof(*tasks));
	p->job = NULL;
	if (err) {
		page_free(p);
		return err;
	}
	*out = p;
	return NULL;
}

void page_free(struct page *p)
{
	if (!p)
		return;
	activity_deinit(&p->activity);
	marks_deinit(&p->marks);
	page_cube_deinit(&p->cube);
	page_samples_deinit(&p->samples);
	free(p->finest);
	profile_deinit(&p->profile);
	free(p);
}

static void put_activity(struct json *json, const struct activity *activity)
{
	json_number(json, "interval_ns", activity->interval);
	json_number(json, "intervals", activity->count);
	json_number(json, "series_first", activity->total.first);
	json_array_line(json, "series");
	for (size_t i = 0; i < activity->total.count; i++)
		json_number(json, NULL, activity->total.points[i].live.bytes);
	json_end(json);
	json_array(json, "phases");
	for (size_t i = 0; i < activity->phase_count; i++) {
		const struct phase *phase = &activity->phases[i];

		json_object_line(json, NULL);
		json_text(json, "kind", phase_kind_names[phase->kind]);
		json_number(json, "begin_ns", phase->begin);
		json_number(json, "end_ns", phase->end);
		json_number(json, "begin_bytes", phase->at_begin.bytes);
		json_number(json, "end_bytes", phase->at_end.bytes);
		json_number(json, "allocs", phase->began.blocks);
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

/* Puts the margins of the page's first figures, of the whole session; "" where these are exact. */
static void put_margins(struct json *json, const struct profile *p)
{
	json_object(json, "margins");
	json_text(json, "live_bytes",
		  estimated_margin(ESTIMATED_MARGIN_BUF, p->total.live_bytes,
				   p->total.live_bytes_variance));
	json_text(json, "peak_bytes",
		  estimated_margin(ESTIMATED_MARGIN_BUF, p->at_peak.bytes,
				   p->at_peak.bytes_variance));
	json_text(json, "bytes",
		  estimated_margin(ESTIMATED_MARGIN_BUF, p->total.bytes, p->total.bytes_variance));
	json_end(json);
}

static struct shiny_err *put_head(struct json *json, const struct page_job *job,
				  const struct profile *p)
{
	struct headlines headlines = { 0 };

	SHINY_TRY(headlines_load(job->store, job->filter->level, &headlines));
	json_text(json, "version", SHINY_VERSION_TEXT);
	json_text(json, "name", job->name);
	json_text(json, "command", job->command);
	json_number(json, "duration_ns", p->duration);
	json_number(json, "peak_ns", p->peak_time);
	json_number(json, "peak_bytes", p->at_peak.bytes);
	json_number(json, "peak_blocks", p->at_peak.blocks);
	put_margins(json, p);
	json_array(json, "headlines");
	for (size_t i = 0; i < headlines.count; i++) {
		json_object_line(json, NULL);
		json_text(json, "text", headlines.rows[i].text);
		json_text(json, "verb", headlines.rows[i].verb);
		json_end(json);
	}
	json_end(json);
	headlines_deinit(&headlines);
	return page_losses_put(json, job->store);
}

static struct shiny_err *put_data(struct json *json, const struct page_job *job, struct page *p)
{
	struct shiny_err *err;

	json_object(json, NULL);
	err = put_head(json, job, &p->profile);
	if (!err) {
		put_activity(json, &p->activity);
		put_marks(json, &p->marks);
		err = page_samples_put(json, job->store, &p->profile, &p->samples);
	}
	if (!err)
		err = page_tree_put(json, job->store, &p->profile, &p->samples);
	if (!err)
		err = page_makers_put(json, job->store, &p->cube);
	if (!err) {
		page_cells_put(json, "lives", &p->cube.lives, true);
		page_cells_put(json, "changes", &p->cube.changes, false);
	}
	if (!err && job->put_answers) {
		json_object(json, "answers");
		err = job->put_answers(job->answers, json);
		json_end(json);
	}
	json_end(json);
	return err;
}

struct shiny_err *page_write(const struct page_job *job, struct page *page)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FILE *memory = mem_stream_open(&text, &size);
	struct json json;
	struct shiny_err *err;

	json_init(&json, memory);
	err = put_data(&json, job, page);
	mem_stream_close(memory);
	if (err)
		return err;
	return page_file_write(job->out, text, size);
}
