/* SPDX-License-Identifier: Apache-2.0 */
/* retainer_text.c: see retainer_text.h. */
#include "retainer_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/mem.h"
#include "snapshot_facts.h"

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

void keepers_print(const struct style *style, const struct keepers *keepers, const char *what)
{
	enum { BYTES, NAME, KEPT, WAY, COLUMNS };
	const struct table_column columns[COLUMNS] = {
		[BYTES] = { .title = "bytes", .kind = CELL_BYTES },
		[NAME] = { what, CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
		[KEPT] = { .title = "of it", .kind = CELL_BYTES, .drop = 1 },
		[WAY] = { "kept by", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NONE },
	};
	struct table table;

	if (!keepers->count)
		return;
	fprintf(style->out, "\n%sKept by%s, in ", tint(style, TINT_BOLD),
		tint_end(style, TINT_BOLD));
	snapshot_facts_print(style->out, &keepers->facts);
	fputs(":\n", style->out);
	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < keepers->count; i++) {
		const struct keeper_row *row = &keepers->rows[i];
		char *way = row->way.step_count ? retainer_text(&row->way)
						: mem_text("no root reaches it");

		table_row(&table);
		table_number(&table, BYTES, row->bytes);
		table_text(&table, NAME, row->name);
		table_number(&table, KEPT, row->way.bytes);
		table_text(&table, WAY, way);
		free(way);
	}
	table_print(&table, style);
	table_deinit(&table);
}

void keepers_json(struct json *json, const struct keepers *keepers)
{
	json_array(json, "kept_by");
	for (size_t i = 0; i < keepers->count; i++) {
		const struct keeper_row *row = &keepers->rows[i];

		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_number(json, "snapshot", keepers->facts.snapshot);
		json_number(json, "blocks", row->blocks);
		json_number(json, "bytes", row->bytes);
		json_number(json, "kept_blocks", row->way.blocks);
		json_number(json, "kept_bytes", row->way.bytes);
		retainer_json(json, &row->way);
		json_end(json);
	}
	json_end(json);
}
