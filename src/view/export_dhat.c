/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_dhat.c: the file of DHAT (valgrind), version 2, which dh_view.html shows. A program point
 * is a stack.
 *
 * Its fields: t-gmax is the session's peak, t-end its end; "max" is the stack's own peak; lifetimes
 * are those of all its blocks, until the end of the recording for those that live then. Times are
 * in microseconds. Memory accesses are not recorded.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../base/json.h"
#include "../base/text.h"
#include "export.h"
#include "live_events.h"

struct dhat_point { /* a stack */
	uint64_t blocks, bytes; /* live */
	uint64_t most_blocks, most_bytes, life;
};
struct dhat_points {
	struct dhat_point *of; /* by stack id */
	size_t count;
};

static void count_event(void *context, const struct live_event *event)
{
	struct dhat_points *points = context;
	uint32_t stack = event->life->stack < points->count ? event->life->stack : 0;
	struct dhat_point *point = &points->of[stack];

	if (event->kind == LIVE_TYPED)
		return;
	if (event->kind == LIVE_BEGINS) {
		point->blocks += event->blocks;
		point->bytes += event->size;
	} else if (event->kind == LIVE_RESIZED) {
		point->bytes += event->size - event->before;
	} else {
		point->life += event->time > event->life->birth
				       ? (event->time - event->life->birth) * event->blocks
				       : 0;
	}
	if (point->bytes > point->most_bytes || !point->most_blocks) {
		point->most_bytes = point->bytes;
		point->most_blocks = point->blocks;
	}
	if (event->kind == LIVE_ENDS || event->kind == LIVE_GONE) {
		point->blocks -= event->blocks;
		point->bytes -= event->size;
	}
}

static void put_frames(struct json *json, const struct profile *p)
{
	json_array(json, "ftbl");
	json_text(json, NULL, "[root]");
	json_text(json, NULL, "(no stack)");
	for (size_t i = 0; i < p->code.functions.count; i++) {
		const struct path_function *line = &p->code.functions.at[i];
		const char *file = profile_text(p, line->file);
		char place[24] = "";
		char *text;

		if (line->line)
			snprintf(place, sizeof(place), ":%" PRIu32, line->line);
		text = mem_format("0x%" PRIX64 ": %s (%s%s)", p->code.frames[line->frame].vaddr,
				  profile_text(p, line->name), *file ? text_base(file) : "???",
				  place);
		json_text(json, NULL, text);
		free(text);
	}
	json_end(json);
}

static void put_point(struct json *json, const struct profile *p,
		      const struct profile_sample *sum, const struct dhat_point *point)
{
	struct path_walk walk = { 0 };

	json_object_line(json, NULL);
	json_number(json, "tb", sum->sums.bytes);
	json_number(json, "tbk", sum->sums.allocs);
	json_number(json, "tl", point->life / 1000);
	json_number(json, "mb", point->most_bytes);
	json_number(json, "mbk", point->most_blocks);
	json_number(json, "gb", sum->peak_bytes);
	json_number(json, "gbk", sum->peak);
	json_number(json, "eb", sum->sums.live_bytes);
	json_number(json, "ebk", sum->sums.live);
	json_array(json, "fs");
	stack_paths_walk(&p->code, sum->stack, &walk);
	for (size_t k = 0; k < walk.count; k++)
		json_number(json, NULL, walk.at[k] + UINT64_C(2));
	if (!walk.count)
		json_number(json, NULL, 1);
	json_end(json);
	json_end(json);
	free(walk.at);
}

static void put_points(struct json *json, const struct profile *p, const struct dhat_points *points)
{
	struct profile_sample *sums = mem_zero(p->code.stack_limit + 1, sizeof(*sums));

	for (size_t i = 0; i < p->sample_count; i++) {
		struct profile_sample *sum = &sums[p->samples[i].stack];

		sum->stack = p->samples[i].stack;
		sums_add(&sum->sums, &p->samples[i].sums);
		sum->peak += p->samples[i].peak;
		sum->peak_bytes += p->samples[i].peak_bytes;
	}
	json_array(json, "pps");
	for (size_t i = 0; i < p->code.stack_limit; i++)
		if (sums[i].sums.allocs)
			put_point(json, p, &sums[i], &points->of[i]);
	json_end(json);
	free(sums);
}

struct shiny_err *export_dhat(const struct export_job *job)
{
	const struct profile *p = job->profile;
	struct dhat_points points = { .count = p->code.stack_limit };
	struct json json;
	struct shiny_err *err;

	points.of = mem_zero(points.count + 1, sizeof(*points.of));
	err = live_events_each(job->store, job->filter,
			       job->progress ? "adding up lifetimes" : NULL, NULL, count_event,
			       &points);
	if (!err) {
		json_init(&json, job->out);
		json_object(&json, NULL);
		json_number(&json, "dhatFileVersion", 2);
		json_text(&json, "mode", "heap");
		json_text(&json, "verb", "Allocated");
		json_bool(&json, "bklt", true);
		json_bool(&json, "bkacc", false);
		json_text(&json, "tu", "\xc2\xb5s");
		json_text(&json, "Mtu", "s");
		json_number(&json, "tuth", 10);
		json_text(&json, "cmd", job->command);
		json_number(&json, "pid", job->pid);
		json_text(&json, "recording", job->loss); /* left out: no viewer reads it */
		json_number(&json, "te", p->duration / 1000);
		json_number(&json, "tg", p->peak_time / 1000);
		put_points(&json, p, &points);
		put_frames(&json, p);
		json_end(&json);
	}
	free(points.of);
	return err;
}
