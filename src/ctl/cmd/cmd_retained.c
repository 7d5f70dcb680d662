/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_retained.c: `shinyctl retained`: prints the bytes that only a type, call site or root keeps
 * alive. */
#include <string.h>

#include "../../base/units.h"
#include "../../graph/retained.h"
#include "../answers_json.h"
#include "../ctl.h"
#include "../snapshot_facts.h"

enum { RETAINED, SHARE, KEPT, BYTES, BLOCKS, NAME, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[NAME] = { "type", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[RETAINED] = { .title = "retained", .kind = CELL_BYTES },
	[SHARE] = { .title = "share", .kind = CELL_SHARE },
	[KEPT] = { .title = "blocks", .kind = CELL_COUNT, .drop = 2 },
	[BYTES] = { .title = "own bytes", .kind = CELL_BYTES },
	[BLOCKS] = { .title = "own blocks", .kind = CELL_COUNT, .drop = 1 },
};
static const char *const titles[] = { [RETAINED_BY_TYPE] = "type",
				      [RETAINED_BY_SITE] = "call site",
				      [RETAINED_BY_MEMBER] = "member",
				      [RETAINED_BY_COMPONENT] = "component",
				      [RETAINED_BY_ROOT] = "root" };

static void print(struct ctl *ctl, const struct retained *r, enum retained_by by, size_t limit)
{
	struct table_column titled[COLUMNS];
	struct table table;

	snapshot_facts_print(ctl->style.out, &r->facts);
	fprintf(ctl->style.out, ": roots reach %s, %s\n",
		units_noun(UNITS_NOUN_BUF, r->blocks, "block"), units_bytes(UNITS_BUF, r->bytes));
	if (r->unreachable)
		fprintf(ctl->style.out, "no root reaches %s, %s\n",
			units_noun(UNITS_NOUN_BUF, r->unreachable, "block"),
			units_bytes(UNITS_BUF, r->unreachable_bytes));
	fputc('\n', ctl->style.out);
	memcpy(titled, columns, sizeof(titled));
	titled[NAME].title = titles[by];
	table_init(&table, titled, COLUMNS);
	table_total(&table, SHARE, r->bytes);
	for (size_t i = 0; i < limit; i++) {
		const struct retained_row *row = &r->rows[i];

		table_row(&table);
		table_number(&table, RETAINED, row->retained_bytes);
		table_number(&table, SHARE, row->retained_bytes);
		table_number(&table, KEPT, row->retained);
		if (by != RETAINED_BY_ROOT) {
			table_number(&table, BYTES, row->bytes);
			table_number(&table, BLOCKS, row->blocks);
		}
		table_text(&table, NAME, row->name);
	}
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, r->count);
	table_deinit(&table);
}

struct shiny_err *cmd_retained(struct ctl *ctl)
{
	/* in options.def's order */
	static const enum retained_by all[] = { RETAINED_BY_TYPE, RETAINED_BY_SITE,
						RETAINED_BY_MEMBER, RETAINED_BY_COMPONENT,
						RETAINED_BY_ROOT };
	enum retained_by by = all[ctl->options.number[OPT_RETAINED_BY]];
	struct retained retained;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);
	size_t limit;

	if (!err)
		err = ctl_loaded(store, &filter,
				 retained_load(store, &filter,
					       (uint32_t)ctl->options.number[OPT_SNAPSHOT], &by, 1,
					       ctl->options.given[OPT_FULL_NAMES], &retained));
	if (err)
		return err;
	limit = ctl_limit(ctl, retained.count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_retained(&ctl->json, &retained, limit);
	} else {
		print(ctl, &retained, by, limit);
	}
	retained_deinit(&retained);
	return ctl_end(ctl, store, by == RETAINED_BY_ROOT ? "retained" : "retained --by root");
}
