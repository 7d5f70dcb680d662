/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_retainers.c: `shinyctl retainers`: the ways from roots to blocks. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../base/mem.h"
#include "../../base/units.h"
#include "../../graph/retainers.h"
#include "../ctl.h"
#include "../snapshot_facts.h"

enum { BYTES, BLOCKS, WAY, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[WAY] = { "way", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[BYTES] = { .title = "bytes", .kind = CELL_BYTES },
	[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
};

/*
 * "g_service (server) → Service::cache_ (std::map) → Entry… → char[]+0x18 → Name"; … for several in
 * a row, +0x18 where the word has no name.
 */
static char *way_text(const struct retainer_row *row)
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

static void print(struct ctl *ctl, const struct retainers *r, size_t limit)
{
	struct table table;

	snapshot_facts_print(ctl->style.out, &r->facts);
	fprintf(ctl->style.out, ": %s, %s, %s\n",
		units_noun(UNITS_NOUN_BUF, r->blocks, "block"), units_bytes(UNITS_BUF, r->bytes),
		units_noun(UNITS_NOUN_BUF, r->count, "way"));
	if (r->unreachable)
		fprintf(ctl->style.out, "no root reaches another %s, %s\n",
			units_noun(UNITS_NOUN_BUF, r->unreachable, "block"),
			units_bytes(UNITS_BUF, r->unreachable_bytes));
	fputc('\n', ctl->style.out);
	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		char *text = way_text(&r->rows[i]);

		table_row(&table);
		table_number(&table, BYTES, r->rows[i].bytes);
		table_number(&table, BLOCKS, r->rows[i].blocks);
		table_text(&table, WAY, text);
		free(text);
	}
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, r->count);
	table_deinit(&table);
}

static void json_steps(struct json *json, const struct retainer_row *row)
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

static void json_rows(struct json *json, const struct retainers *r, size_t limit)
{
	snapshot_facts_json(json, &r->facts);
	json_number(json, "blocks", r->blocks);
	json_number(json, "bytes", r->bytes);
	json_number(json, "unreachable", r->unreachable);
	json_number(json, "unreachable_bytes", r->unreachable_bytes);
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		json_object_line(json, NULL);
		json_number(json, "blocks", r->rows[i].blocks);
		json_number(json, "bytes", r->rows[i].bytes);
		json_number(json, "address", r->rows[i].address);
		json_steps(json, &r->rows[i]);
		json_end(json);
	}
	json_end(json);
}

struct shiny_err *cmd_retainers(struct ctl *ctl)
{
	struct retainers retainers;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);
	size_t limit;

	if (!err)
		err = ctl_loaded(store, &filter,
				 retainers_load(store, &filter,
						(uint32_t)ctl->options.number[OPT_SNAPSHOT],
						ctl->options.operands[1],
						ctl->options.given[OPT_FULL_NAMES], &retainers));
	if (err)
		return err;
	limit = ctl_limit(ctl, retainers.count, 10);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_rows(&ctl->json, &retainers, limit);
	} else {
		print(ctl, &retainers, limit);
	}
	retainers_deinit(&retainers);
	return ctl_end(ctl, store, "retained");
}
