/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_growth.c: `shinyctl growth`: buffers that grow step by step, and what that costs. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/time/growth.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../answers_json.h"
#include "../ctl.h"

enum { WASTE, CUMULATIVE, DOUBLING, LARGEST, CHAINS, STEPS, MOST, POLICY, SITE, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[SITE] = { "site", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[WASTE] = { .title = "waste", .kind = CELL_BYTES },
	[CUMULATIVE] = { .title = "cumulative", .kind = CELL_BYTES },
	[DOUBLING] = { .title = "by doubling", .kind = CELL_BYTES, .drop = 2 },
	[LARGEST] = { .title = "largest", .kind = CELL_BYTES, .drop = 4 },
	[CHAINS] = { .title = "buffers", .kind = CELL_COUNT, .drop = 3 },
	[STEPS] = { .title = "steps", .kind = CELL_COUNT },
	[MOST] = { .title = "most", .kind = CELL_COUNT, .drop = 5 },
	[POLICY] = { .title = "grows", .kind = CELL_TEXT, .drop = 1 },
};

static char *policy_text(const struct growth_row *row)
{
	switch (row->policy) {
	case GROWTH_GEOMETRIC: return mem_format("\xc3\x97 %.2f", row->factor);
	case GROWTH_CONSTANT: return mem_format("+ %s", units_bytes(UNITS_BUF, row->step_bytes));
	case GROWTH_JUST_ENOUGH:
		return mem_format("just enough, + %s", units_bytes(UNITS_BUF, row->step_bytes));
	default: return mem_text(growth_policy_names[row->policy]);
	}
}

static void print(struct ctl *ctl, const struct growth *growth, size_t limit)
{
	struct table table;

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct growth_row *row = &growth->rows[i];
		char *policy = policy_text(row);

		table_row(&table);
		table_text(&table, SITE, row->name);
		table_number(&table, WASTE, growth_waste(row));
		table_number(&table, CUMULATIVE, row->cumulative);
		table_number(&table, DOUBLING, row->doubling);
		table_number(&table, LARGEST, row->largest);
		table_number(&table, CHAINS, row->chains);
		table_number(&table, STEPS, row->steps);
		table_number(&table, MOST, row->most_steps);
		table_text(&table, POLICY, policy);
		free(policy);
	}
	table_print(&table, &ctl->style);
	if (!growth->count)
		fprintf(ctl->style.out, "no buffer grew\n");
	ctl_more(ctl, limit, growth->count);
	table_deinit(&table);
}

struct shiny_err *cmd_growth(struct ctl *ctl)
{
	struct growth growth;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);
	size_t limit;

	if (!err)
		err = ctl_loaded(store, &filter,
				 growth_load(store, &filter, ctl->options.text[OPT_MATCH],
					     (uint64_t)ctl->options.number[OPT_LEAST_STEPS], true,
					     &growth));
	if (err)
		return err;
	limit = ctl_limit(ctl, growth.count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_growth(&ctl->json, &growth, limit);
	} else {
		print(ctl, &growth, limit);
	}
	growth_deinit(&growth);
	return ctl_end(ctl, store, "lifetimes");
}
