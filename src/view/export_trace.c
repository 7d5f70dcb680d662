/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_trace.c: Chrome's trace events in JSON, for ui.perfetto.dev and chrome://tracing: of each
 * process counters of what is live, at the end of each interval of `shinyctl activity`, and the
 * marks; at the end a dump of what is live in each process (heap_dump.h), which chrome://tracing
 * shows.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../analysis/time/activity.h"
#include "../analysis/time/marks.h"
#include "../base/json.h"
#include "export.h"
#include "heap_dump.h"

static void begin_event(struct json *json, const char *phase, const char *name, uint32_t pid,
			uint64_t ns)
{
	json_object_line(json, NULL);
	json_text(json, "ph", phase);
	json_text(json, "name", name);
	json_number(json, "pid", pid);
	json_real(json, "ts", (double)ns / 1000);
}

static void put_counter(struct json *json, const char *name, uint32_t pid, uint64_t ns,
			const char *key, uint64_t value)
{
	begin_event(json, "C", name, pid, ns);
	json_object_line(json, "args");
	json_number(json, key, value);
	json_end(json);
	json_end(json);
}

static void put_series(struct json *json, const struct activity *activity,
		       const struct activity_series *series)
{
	begin_event(json, "M", "process_name", series->pid, 0);
	json_object_line(json, "args");
	json_text(json, "name", series->name);
	json_end(json);
	json_end(json);
	for (size_t i = 0; i < series->count; i++) {
		const struct activity_point *point = &series->points[i];
		uint64_t ns = activity_end(activity, series, i);

		put_counter(json, "live bytes", series->pid, ns, "bytes", point->live.bytes);
		put_counter(json, "live blocks", series->pid, ns, "blocks", point->live.blocks);
		put_counter(json, "allocations", series->pid, ns, "blocks", point->began.blocks);
	}
}

static void put_dump(struct json *json, const struct profile *profile,
		     const struct activity_series *series, uint64_t duration)
{
	char bytes[24], id[24];
	uint64_t live = 0;

	for (size_t i = 0; i < profile->sample_count; i++)
		if (profile->samples[i].process == series->process)
			live += profile->samples[i].sums.live_bytes;
	snprintf(bytes, sizeof(bytes), "%" PRIx64, live);
	snprintf(id, sizeof(id), "0x%" PRIx32, series->process);
	json_object(json, NULL);
	json_text(json, "ph", "v");
	json_text(json, "cat", "disabled-by-default-memory-infra");
	json_text(json, "name", "explicitly_triggered");
	json_text(json, "id", id);
	json_number(json, "pid", series->pid);
	json_real(json, "ts", (double)duration / 1000);
	json_object(json, "args");
	json_object(json, "dumps");
	json_text(json, "level_of_detail", "detailed");
	json_object(json, "allocators");
	json_object(json, "malloc");
	json_object(json, "attrs");
	json_object_line(json, "size");
	json_text(json, "type", "scalar");
	json_text(json, "units", "bytes");
	json_text(json, "value", bytes);
	json_end(json);
	json_end(json);
	json_end(json);
	json_end(json);
	heap_dump_put(json, profile, series->process);
	json_end(json);
	json_end(json);
	json_end(json);
}

struct shiny_err *export_trace(const struct export_job *job)
{
	struct activity activity = { 0 };
	struct marks marks = { 0 };
	struct json json;
	unsigned flags = ACTIVITY_NO_PAGES | ACTIVITY_NO_TYPES |
			 (job->progress ? ACTIVITY_PROGRESS : 0);
	struct shiny_err *err = activity_load(job->store, job->filter, 0, flags, &activity);

	if (err)
		return err;
	err = marks_load(job->store, job->filter, job->progress, &marks);
	if (err) {
		activity_deinit(&activity);
		return err;
	}
	json_init(&json, job->out);
	json_object(&json, NULL);
	json_text(&json, "displayTimeUnit", "ms");
	json_object_line(&json, "otherData");
	json_text(&json, "exporter", "shinyctl " SHINY_VERSION_TEXT);
	json_text(&json, "command", job->command);
	json_text(&json, "recording", job->loss);
	json_end(&json);
	json_array(&json, "traceEvents");
	for (size_t i = 0; i < activity.process_count; i++)
		put_series(&json, &activity, &activity.processes[i]);
	for (size_t i = 0; i < activity.process_count; i++)
		put_dump(&json, job->profile, &activity.processes[i], activity.duration);
	for (size_t i = 1; i < marks.count; i++) {
		const struct mark_row *mark = &marks.rows[i];

		begin_event(&json, "i", mark->name, mark->pid, mark->time);
		json_number(&json, "tid", mark->tid);
		json_text(&json, "s", mark->pid ? "p" : "g");
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
	marks_deinit(&marks);
	activity_deinit(&activity);
	return NULL;
}
