/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_unreachable.c: `shinyctl unreachable`: lists blocks that no root reaches. */
#include <string.h>

#include "../../base/units.h"
#include "../../graph/unreachable.h"
#include "../ctl.h"
#include "../snapshot_facts.h"

enum { CHECK_FAILED = 1 /* exit status */ };
enum { BYTES, BLOCKS, DIRECT, INDIRECT, NAME, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[NAME] = { "site", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[BYTES] = { .title = "bytes", .kind = CELL_BYTES },
	[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
	[DIRECT] = { .title = "direct", .kind = CELL_COUNT, .drop = 1 },
	[INDIRECT] = { .title = "indirect", .kind = CELL_COUNT, .drop = 2 },
};

static void print(struct ctl *ctl, const struct unreachable *u, enum group_by by, size_t limit)
{
	struct table_column titled[COLUMNS];
	struct table table;

	snapshot_facts_print(ctl->style.out, &u->facts);
	fprintf(ctl->style.out, ": of %s, %s, no root reaches %s, %s\n",
		units_noun(UNITS_NOUN_BUF, u->blocks, "block"), units_bytes(UNITS_BUF, u->bytes),
		units_count(UNITS_BUF, u->sums.direct + u->sums.indirect),
		units_bytes(UNITS_BUF, u->sums.direct_bytes + u->sums.indirect_bytes));
	fprintf(ctl->style.out, "%s direct; %s indirect, other unreachable blocks point to them\n",
		units_count(UNITS_BUF, u->sums.direct), units_count(UNITS_BUF, u->sums.indirect));
	if (u->suppressed)
		fprintf(ctl->style.out, "%s, %s, suppressed\n",
			units_count(UNITS_BUF, u->suppressed),
			units_bytes(UNITS_BUF, u->suppressed_bytes));
	if (u->facts.unread)
		fprintf(ctl->style.out, "%s of its memory could not be read\n",
			units_bytes(UNITS_BUF, u->facts.unread));
	fputc('\n', ctl->style.out);
	memcpy(titled, columns, sizeof(titled));
	titled[NAME].title = group_names[by];
	table_init(&table, titled, COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct unreachable_row *row = &u->rows[i];

		table_row(&table);
		table_number(&table, BYTES, row->sums.direct_bytes + row->sums.indirect_bytes);
		table_number(&table, BLOCKS, row->sums.direct + row->sums.indirect);
		table_number(&table, DIRECT, row->sums.direct);
		table_number(&table, INDIRECT, row->sums.indirect);
		table_text(&table, NAME, row->name);
	}
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, u->count);
	table_deinit(&table);
}

static void json_unreachable_sums(struct json *json, const struct unreachable_sums *sums)
{
	json_number(json, "direct", sums->direct);
	json_number(json, "direct_bytes", sums->direct_bytes);
	json_number(json, "indirect", sums->indirect);
	json_number(json, "indirect_bytes", sums->indirect_bytes);
}

static void json_rows(struct json *json, const struct unreachable *u, size_t limit)
{
	snapshot_facts_json(json, &u->facts);
	json_number(json, "unread", u->facts.unread);
	json_number(json, "blocks", u->blocks);
	json_number(json, "bytes", u->bytes);
	json_unreachable_sums(json, &u->sums);
	json_number(json, "suppressed", u->suppressed);
	json_number(json, "suppressed_bytes", u->suppressed_bytes);
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", u->rows[i].name);
		json_unreachable_sums(json, &u->rows[i].sums);
		json_number(json, "address", u->rows[i].address);
		json_number(json, "stack", u->rows[i].stack);
		json_end(json);
	}
	json_end(json);
}

struct shiny_err *cmd_unreachable(struct ctl *ctl)
{
	/* in options.def's order */
	static const enum group_by groups[] = { GROUP_SITE, GROUP_TYPE };
	enum group_by by = groups[ctl->options.number[OPT_UNREACHABLE_BY]];
	struct unreachable unreachable;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);
	size_t limit;

	if (!err)
		err = ctl_loaded(store, &filter,
				 unreachable_load(store, &filter,
						  (uint32_t)ctl->options.number[OPT_SNAPSHOT], by,
						  ctl->options.text[OPT_SUPPRESSIONS],
						  ctl->options.given[OPT_FULL_NAMES],
						  &unreachable));
	if (err)
		return err;
	limit = ctl_limit(ctl, unreachable.count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_rows(&ctl->json, &unreachable, limit);
	} else {
		print(ctl, &unreachable, by, limit);
	}
	if (ctl->options.given[OPT_FAIL] && unreachable.count)
		ctl->status = CHECK_FAILED;
	unreachable_deinit(&unreachable);
	return ctl_end(ctl, store, by == GROUP_SITE ? "unreachable --by type" : "leaks");
}
