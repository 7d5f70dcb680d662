/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_types.c: `shinyctl types`, and the types of the front page. */
#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"
#include "../base/units.h"
#include "ctl.h"

enum { SHARE, BAR, LIVE_BYTES, LIVE, ALLOCS, FREES, BYTES, SITES, CLASS, TYPE, FROM, MODULE, COLUMNS };
static const struct column columns[COLUMNS] = {
	[TYPE] = {"type", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME},
	[LIVE_BYTES] = {.title = "live bytes", .kind = CELL_BYTES},
	[SHARE] = {.title = "share", .kind = CELL_SHARE},
	[BAR] = {.title = "", .kind = CELL_BAR, .drop = 7, .tint = TINT_GOOD},
	[LIVE] = {.title = "live", .kind = CELL_COUNT},
	[ALLOCS] = {.title = "allocs", .kind = CELL_COUNT},
	[FREES] = {.title = "frees", .kind = CELL_COUNT, .drop = 4},
	[BYTES] = {.title = "bytes", .kind = CELL_BYTES, .drop = 3},
	[CLASS] = {.title = "size", .kind = CELL_BYTES, .drop = 8},
	[FROM] = {.title = "from", .kind = CELL_TEXT, .drop = 5},
	[SITES] = {.title = "sites", .kind = CELL_COUNT, .drop = 6},
	[MODULE] = {.title = "module", .kind = CELL_TEXT, .flexible = true, .cut = TEXT_CUT_MIDDLE, .drop = 9, .tint = TINT_DIM},
};

static enum order order_of(const struct ctl *ctl)
{
	static const struct { const char *word; enum order order; } words[] = {
		{"bytes", ORDER_BYTES}, {"allocs", ORDER_ALLOCS}, {"frees", ORDER_FREES}, {"name", ORDER_NAME},
	};
	const char *text = ctl->options.text[OPT_TYPES_SORT];

	for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i].word, text) == 0)
			return words[i].order;
	return ORDER_LIVE;
}

void print_types(struct ctl *ctl, const struct types *types, size_t limit, bool brief)
{
	enum order order = brief ? ORDER_LIVE : order_of(ctl);
	uint64_t total = sums_by(&types->total, order, 0);
	struct table table;

	table_init(&table, columns, COLUMNS);
	table_total(&table, SHARE, total);
	table_total(&table, BAR, total);
	for (size_t i = 0; i < limit; i++) {
		const struct type_row *row = &types->rows[i];
		uint64_t value = sums_by(&row->sums, order, 0);

		table_row(&table);
		if (row->type && row->at_least) {
			char *marked = mem_format("%s+", row->type);

			table_text(&table, TYPE, marked);
			free(marked);
		} else {
			table_text(&table, TYPE, row->type ? row->type : "(no type)");
		}
		table_number(&table, LIVE_BYTES, row->sums.live_bytes);
		table_number(&table, SHARE, value);
		table_number(&table, BAR, value);
		table_number(&table, LIVE, row->sums.live);
		table_number(&table, ALLOCS, row->sums.allocs);
		table_number(&table, FREES, row->sums.frees);
		table_number(&table, BYTES, row->sums.bytes);
		if (row->class_bytes)
			table_number(&table, CLASS, row->class_bytes);
		if (row->type)
			table_text(&table, FROM, row->source);
		table_number(&table, SITES, row->sites);
		if (row->module)
			table_text(&table, MODULE, text_base(row->module));
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
	ctl_more(ctl, limit, types->count);
}

void json_types(struct ctl *ctl, const char *key, const struct types *types, size_t limit)
{
	struct json *json = &ctl->json;

	json_array(json, key);
	for (size_t i = 0; i < limit; i++) {
		const struct type_row *row = &types->rows[i];

		json_object_line(json, NULL);
		json_text(json, "type", row->type);
		json_text(json, "module", row->module);
		json_text(json, "source", row->source);
		json_sums(json, &row->sums);
		json_number(json, "class_bytes", row->class_bytes);
		json_number(json, "at_least", row->at_least);
		json_number(json, "sites", row->sites);
		json_number(json, "processes", row->processes);
		json_end(json);
	}
	json_end(json);
}

static void print_totals(struct ctl *ctl, const struct types *types)
{
	fprintf(stdout, "\n%s types; typed: %s of the allocations, %s of the live bytes%s\n",
		units_count(UNITS_BUF, types->count - (types->total.allocs + types->total.inherited >
						       types->typed.allocs + types->typed.inherited)),
		*units_share(UNITS_BUF, (double)types->typed.allocs, (double)types->total.allocs)
			? units_share(UNITS_BUF, (double)types->typed.allocs, (double)types->total.allocs) : "none",
		*units_share(UNITS_BUF, (double)types->typed.live_bytes, (double)types->total.live_bytes)
			? units_share(UNITS_BUF, (double)types->typed.live_bytes, (double)types->total.live_bytes) : "none",
		ctl->options.given[OPT_MATCH] ? " that match" : "");
}

struct shiny_err *cmd_types(struct ctl *ctl)
{
	struct store *store;
	struct scope scope = {0};
	struct types types = {0};
	struct shiny_err *err = store_open(ctl->options.operands[0], &store);

	if (err)
		return err;
	err = scope_resolve(store, ctl->options.text[OPT_PROCESS], &scope);
	if (!err)
		err = types_load(store, &scope, ctl->options.text[OPT_MATCH], order_of(ctl), &types);
	if (err) {
		store_close(store);
		scope_deinit(&scope);
		return err;
	}
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_object_line(&ctl->json, "total");
		json_sums(&ctl->json, &types.total);
		json_end(&ctl->json);
		json_types(ctl, "rows", &types, ctl_limit(ctl, types.count, 30));
	} else {
		print_types(ctl, &types, ctl_limit(ctl, types.count, 30), false);
		print_totals(ctl, &types);
	}
	types_deinit(&types);
	scope_deinit(&scope);
	return ctl_end(ctl, store, "sites");
}
