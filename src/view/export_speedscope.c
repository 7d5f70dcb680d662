/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_speedscope.c: speedscope's own format: a profile a measure, over the same frames.
 * https://www.speedscope.app/file-format-schema.json is its schema.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../base/cleanup.h"
#include "../base/json.h"
#include "export.h"

static void put_frames(struct json *json, const struct profile *p)
{
	json_object(json, "shared");
	json_array(json, "frames");
	for (size_t i = 0; i < p->code.functions.count; i++) {
		const struct path_function *line = &p->code.functions.at[i];

		json_object_line(json, NULL);
		json_text(json, "name", profile_text(p, line->name));
		if (*profile_text(p, line->file)) {
			json_text(json, "file", profile_text(p, line->file));
			json_number(json, "line", line->line);
		}
		json_end(json);
	}
	/* the frame of samples without a stack */
	json_object_line(json, NULL);
	json_text(json, "name", "(no stack)");
	json_end(json);
	json_end(json);
	json_end(json);
}

static void put_profile(struct json *json, const struct profile *p, enum profile_measure measure,
			const char *name)
{
	struct path_walk walk = { 0 };

	json_object(json, NULL);
	json_text(json, "type", "sampled");
	json_text(json, "name", name);
	json_text(json, "unit", measure == MEASURE_ALLOCS ? "none" : "bytes");
	json_number(json, "startValue", 0);
	json_number(json, "endValue", profile_total(p, measure));
	json_array(json, "samples");
	for (size_t i = 0; i < p->sample_count; i++) {
		if (!profile_weight(&p->samples[i], measure))
			continue;
		stack_paths_walk(&p->code, p->samples[i].stack, &walk);
		json_array_line(json, NULL);
		for (size_t k = walk.count; k--;)
			json_number(json, NULL, walk.at[k]);
		if (!walk.count)
			json_number(json, NULL, p->code.functions.count);
		json_end(json);
	}
	json_end(json);
	json_array_line(json, "weights");
	for (size_t i = 0; i < p->sample_count; i++)
		if (profile_weight(&p->samples[i], measure))
			json_number(json, NULL, profile_weight(&p->samples[i], measure));
	json_end(json);
	json_end(json);
	free(walk.at);
}

struct shiny_err *export_speedscope(const struct export_job *job)
{
	static const char *const names[MEASURES] = {
		[MEASURE_LIVE] = "bytes live at the end",
		[MEASURE_BYTES] = "bytes allocated",
		[MEASURE_ALLOCS] = "allocations",
		[MEASURE_PEAK] = "bytes live at the peak",
	};
	AUTO_FREE char *exporter =
		mem_format("shinyctl " SHINY_VERSION_TEXT "; %s", job->loss);
	struct json json;

	json_init(&json, job->out);
	json_object(&json, NULL);
	json_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_text(&json, "exporter", exporter);
	json_text(&json, "name", job->command);
	json_number(&json, "activeProfileIndex", 0);
	put_frames(&json, job->profile);
	json_array(&json, "profiles");
	for (int measure = 0; measure < MEASURES; measure++)
		put_profile(&json, job->profile, (enum profile_measure)measure, names[measure]);
	json_end(&json);
	json_end(&json);
	return NULL;
}
