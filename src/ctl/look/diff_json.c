/* SPDX-License-Identifier: Apache-2.0 */
#include "diff_json.h"

#include "../ctl.h"

static void json_side(struct json *json, const char *key, const struct diff_row *row, int side,
		      bool timed)
{
	const struct diff_side *s = &row->sides[side];

	if (!row->members[side]) {
		json_null(json, key);
		return;
	}
	json_object(json, key);
	json_sums(json, &s->sums);
	json_number(json, "size", s->size);
	if (timed) {
		json_number(json, "peak_bytes", s->peak_bytes);
		json_number(json, "ended", s->ended);
		json_number(json, "p10_ns", s->p10_ns);
		json_number(json, "p50_ns", s->p50_ns);
		json_number(json, "p90_ns", s->p90_ns);
		json_number(json, "p50_steps", s->p50_steps);
		json_number(json, "episodes", s->episodes);
	}
	json_end(json);
}

void json_diff_rows(struct json *json, const struct diff *d, size_t limit)
{
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		const struct diff_row *row = &d->rows[i];

		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_text(json, "full_name", row->full_name ? row->full_name : row->name);
		json_text(json, "match", match_names[row->how]);
		json_text(json, "mostly", row->mostly);
		json_object(json, "place");
		for (int m = 0; m < DIFF_MEASURES; m++)
			if (row->places[m])
				json_number(json, diff_measure_names[m], row->places[m]);
		json_end(json);
		json_object(json, "rank");
		for (int m = 0; m < DIFF_MEASURES; m++)
			if (row->places[m])
				json_real(json, diff_measure_names[m], row->ranks[m]);
		json_end(json);
		json_side(json, "base", row, 0, d->timed);
		json_side(json, "new", row, 1, d->timed);
		json_end(json);
	}
	json_end(json);
}
