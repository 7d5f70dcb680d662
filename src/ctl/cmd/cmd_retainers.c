/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_retainers.c: `shinyctl retainers`: prints the ways from roots to blocks. */
#include <stdlib.h>

#include "../../base/units.h"
#include "../../graph/retainers.h"
#include "../ctl.h"
#include "../retainer_text.h"
#include "../snapshot_facts.h"

enum { BYTES, BLOCKS, WAY, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[WAY] = { "way", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[BYTES] = { .title = "bytes", .kind = CELL_BYTES },
	[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
};

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
		char *text = retainer_text(&r->rows[i]);

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
		retainer_json(json, &r->rows[i]);
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
