/* SPDX-License-Identifier: Apache-2.0 */
/* retainer_text.c: see retainer_text.h. */
#include "retainer_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/mem.h"

char *retainer_text(const struct retainer_row *row)
{
	char *text = mem_text("");

	for (size_t i = 0; i < row->step_count; i++) {
		const struct retainer_step *step = &row->steps[i];
		char offset[32] = "", *longer;

		if (i && step->one_offset && !step->member)
			snprintf(offset, sizeof(offset), "+0x%" PRIx64, step->offset);
		longer = mem_format("%s%s%s%s%s", text, i ? " \xe2\x86\x92 " : "",
				    step->member ? step->member : step->name,
				    step->repeated ? "\xe2\x80\xa6" : "", offset);
		free(text);
		text = longer;
	}
	return text;
}

void retainer_json(struct json *json, const struct retainer_row *row)
{
	json_array_line(json, "steps");
	for (size_t k = 0; k < row->step_count; k++) {
		const struct retainer_step *step = &row->steps[k];

		json_object_line(json, NULL);
		json_text(json, "name", step->name);
		json_text(json, "member", step->member);
		json_bool(json, "repeated", step->repeated);
		if (k + 1 < row->step_count)
			json_bool(json, "sure", step->sure);
		if (step->one_offset)
			json_number(json, "offset", step->offset);
		json_end(json);
	}
	json_end(json);
}
