/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_types.c: `shinyctl types`. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/query/type_name.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"
#include "../members.h"

enum {
	SHARE,
	BAR,
	LIVE_BYTES,
	LIVE,
	ALLOCS,
	FREES,
	BYTES,
	SITES,
	CLASS,
	TYPE,
	RULE,
	CONFIDENCE,
	FROM,
	MODULE,
	COLUMNS
};
static const struct table_column columns[COLUMNS] = {
	[TYPE] = { "type", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[LIVE_BYTES] = { .title = "live bytes", .kind = CELL_BYTES },
	[SHARE] = { .title = "share", .kind = CELL_SHARE },
	[BAR] = { .title = "", .kind = CELL_BAR, .drop = 7, .tint = TINT_GOOD },
	[LIVE] = { .title = "live", .kind = CELL_COUNT },
	[ALLOCS] = { .title = "allocs", .kind = CELL_COUNT },
	[FREES] = { .title = "frees", .kind = CELL_COUNT, .drop = 6 },
	[BYTES] = { .title = "bytes", .kind = CELL_BYTES, .drop = 3 },
	[CLASS] = { .title = "size", .kind = CELL_BYTES, .drop = 8 },
	[RULE] = { .title = "rule", .kind = CELL_TEXT, .drop = 2 },
	[CONFIDENCE] = { .title = "sure", .kind = CELL_TEXT, .drop = 1 },
	[FROM] = { .title = "from", .kind = CELL_TEXT, .drop = 9 },
	[SITES] = { .title = "sites", .kind = CELL_COUNT, .drop = 5 },
	[MODULE] = { .title = "module",
		     .kind = CELL_TEXT,
		     .flexible = true,
		     .cut = TEXT_CUT_MIDDLE,
		     .drop = 10,
		     .tint = TINT_DIM },
};
static const char *const titles[] = {
	[TYPES_BY_BLOCK] = "type",
	[TYPES_BY_TYPE] = "type",
	[TYPES_BY_CONTAINER] = "container",
	[TYPES_BY_RULE] = "rule",
	[TYPES_BY_CONFIDENCE] = "confidence",
	[TYPES_BY_MODULE] = "module",
};

static enum sums_order order_of(const struct ctl *ctl)
{
	static const struct {
		const char *word;
		enum sums_order order;
	} words[] = {
		{ "bytes", ORDER_BYTES },
		{ "allocs", ORDER_ALLOCS },
		{ "frees", ORDER_FREES },
		{ "name", ORDER_NAME },
	};
	const char *text = ctl->options.text[OPT_TYPES_SORT];

	for (size_t i = 0; text && i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, text) == 0)
			return words[i].order;
	return ORDER_LIVE;
}

/* Returns the text of the first column. */
static char *row_name(const struct type_row *row, enum types_by by, bool full)
{
	if (by == TYPES_BY_BLOCK)
		return type_name_block(&(struct type_text){ .type = row->type,
							    .container = row->container,
							    .form = row->form,
							    .confidence = row->confidence,
							    .derived = row->or_derived,
							    .full = full });
	if (!row->name)
		return mem_text(by == TYPES_BY_TYPE	   ? "(no type)"
				: by == TYPES_BY_CONTAINER ? "(no container)"
							   : "(no module)");
	if (by == TYPES_BY_TYPE)
		return type_name_block(&(struct type_text){ .type = row->name,
							    .confidence = row->confidence,
							    .derived = row->or_derived,
							    .full = full });
	return by == TYPES_BY_CONTAINER && !full ? type_name_short(row->name) : mem_text(row->name);
}

static void print_legend(struct ctl *ctl, const struct types *types, size_t limit)
{
	static const struct { const char *sign, *meaning;
	} legend[] = {
		{ "~", "probably" },
		{ "?", "perhaps" },
		{ "(", "(…) no type, but where it comes from" },
		{ "+", "or a class derived from it" },
	};
	bool used[4] = {false}, any = false;

	for (size_t i = 0; i < limit; i++) {
		const struct type_row *row = &types->rows[i];
		const char *mark = type_name_mark(row->confidence);

		used[0] = used[0] || *mark == '~';
		used[1] = used[1] || *mark == '?';
		used[2] = used[2] || (row->confidence && strcmp(row->confidence, "label") == 0);
		used[3] = used[3] || row->or_derived;
	}
	for (size_t i = 0; i < 4; i++) {
		if (!used[i])
			continue;
		fprintf(ctl->style.out, "%s%s%s%s", any ? "; " : tint(&ctl->style, TINT_DIM),
			i == 2 ? "" : legend[i].sign, i == 2 ? "" : " ", legend[i].meaning);
		any = true;
	}
	if (any)
		fprintf(ctl->style.out, "%s\n", tint_end(&ctl->style, TINT_DIM));
}

static void print_types(struct ctl *ctl, const struct types *types, enum types_by by, size_t limit)
{
	bool full = ctl->options.given[OPT_FULL_NAMES];
	enum sums_order order = order_of(ctl);
	uint64_t total = sums_by(&types->total, order, 0);
	struct table_column titled[COLUMNS];
	struct table table;

	memcpy(titled, columns, sizeof(titled));
	titled[TYPE].title = titles[by];
	table_init(&table, titled, COLUMNS);
	table_total(&table, SHARE, total);
	table_total(&table, BAR, total);
	for (size_t i = 0; i < limit; i++) {
		const struct type_row *row = &types->rows[i];
		uint64_t value = sums_by(&row->sums, order, 0);
		char *name = row_name(row, by, full);

		table_row(&table);
		table_text(&table, TYPE, name);
		free(name);
		table_number(&table, LIVE_BYTES, row->sums.live_bytes);
		table_number(&table, SHARE, value);
		table_number(&table, BAR, value);
		table_number(&table, LIVE, row->sums.live);
		table_number(&table, ALLOCS, row->sums.allocs);
		table_number(&table, FREES, row->sums.frees);
		table_number(&table, BYTES, row->sums.bytes);
		if (row->class_bytes && by <= TYPES_BY_TYPE)
			table_number(&table, CLASS, row->class_bytes);
		if (row->rules && by != TYPES_BY_RULE && strcmp(row->rules, "none") != 0)
			table_text(&table, RULE, row->rules);
		if (row->confidence && by != TYPES_BY_CONFIDENCE)
			table_text(&table, CONFIDENCE, row->confidence);
		if (row->sources && by <= TYPES_BY_TYPE)
			table_text(&table, FROM, row->sources);
		table_number(&table, SITES, row->sites);
		if (row->module && by != TYPES_BY_MODULE)
			table_text(&table, MODULE, text_base(row->module));
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
	ctl_more(ctl, limit, types->count);
	print_legend(ctl, types, limit);
}

void json_types(struct ctl *ctl, const char *key, const struct types *types, enum types_by by,
		size_t limit)
{
	struct json *json = &ctl->json;

	json_array(json, key);
	for (size_t i = 0; i < limit; i++) {
		const struct type_row *row = &types->rows[i];
		char *name = row_name(row, by, false);

		json_object_line(json, NULL);
		json_text(json, "name", name);
		json_text(json, "type", row->type);
		json_text(json, "container", row->container);
		json_text(json, "form", row->form);
		json_text(json, "rule", row->rules);
		json_text(json, "confidence", row->confidence);
		json_bool(json, "or_derived", row->or_derived);
		json_text(json, "module", row->module);
		json_text(json, "source", row->sources ? row->sources : "none");
		json_sums(json, &row->sums);
		json_number(json, "class_bytes", row->class_bytes);
		json_number(json, "min_size", row->least_size);
		json_number(json, "max_size", row->most_size);
		json_number(json, "at_least", row->at_least);
		json_number(json, "sites", row->sites);
		json_number(json, "processes", row->processes);
		json_end(json);
		free(name);
	}
	json_end(json);
}

static void levels_total(const struct types *types, struct sums *all)
{
	*all = (struct sums){ 0 };
	for (size_t level = 0; level < LEVELS; level++)
		sums_add(all, &types->levels[level]);
}

void json_levels(struct ctl *ctl, const struct types *types)
{
	struct json *json = &ctl->json;

	json_array(json, "confidence");
	for (size_t level = 0; level < LEVELS; level++) {
		json_object_line(json, NULL);
		json_text(json, "name", level_names[level]);
		json_sums(json, &types->levels[level]);
		json_end(json);
	}
	json_end(json);
}

/* Prints the shares of allocations and bytes by confidence of their type. */
static void print_levels(struct ctl *ctl, const struct types *types)
{
	enum { LEVEL, OF_ALLOCS, OF_BYTES, OF_LIVE, LEVEL_ALLOCS, MEANING, LEVEL_COLUMNS };
	static const struct table_column level_columns[LEVEL_COLUMNS] = {
		[LEVEL] = { .title = "how sure", .kind = CELL_TEXT, .tint = TINT_NAME },
		[OF_ALLOCS] = { .title = "of allocations", .kind = CELL_SHARE },
		[OF_BYTES] = { .title = "of bytes", .kind = CELL_SHARE },
		[OF_LIVE] = { .title = "of live bytes", .kind = CELL_SHARE },
		[LEVEL_ALLOCS] = { .title = "allocs", .kind = CELL_COUNT, .drop = 1 },
		[MEANING] = { .title = "",
			      .kind = CELL_TEXT,
			      .flexible = true,
			      .cut = TEXT_CUT_END,
			      .drop = 2,
			      .tint = TINT_DIM },
	};
	static const char *const meanings[LEVELS] = {
		[LEVEL_EXACT] = "the evidence leaves no other type",
		[LEVEL_HIGH] = "one kind of evidence, nothing against it",
		[LEVEL_MEDIUM] = "a guess that is usually right",
		[LEVEL_LOW] = "a guess",
		[LEVEL_LABEL] = "no type, but where it comes from",
		[LEVEL_NONE] = "not known",
	};
	struct sums all;
	struct table table;

	levels_total(types, &all);
	if (!all.allocs && !all.live_bytes)
		return;
	table_init(&table, level_columns, LEVEL_COLUMNS);
	table_total(&table, OF_ALLOCS, all.allocs);
	table_total(&table, OF_BYTES, all.bytes);
	table_total(&table, OF_LIVE, all.live_bytes);
	for (size_t level = 0; level < LEVELS; level++) {
		const struct sums *sums = &types->levels[level];

		if (!sums->allocs && !sums->inherited)
			continue;
		table_row(&table);
		table_text(&table, LEVEL, level_names[level]);
		table_number(&table, OF_ALLOCS, sums->allocs);
		table_number(&table, OF_BYTES, sums->bytes);
		table_number(&table, OF_LIVE, sums->live_bytes);
		table_number(&table, LEVEL_ALLOCS, sums->allocs);
		table_text(&table, MEANING, meanings[level]);
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

struct shiny_err *cmd_types(struct ctl *ctl)
{
	/* options.def lists them in this order */
	enum types_by by = (enum types_by)ctl->options.number[OPT_TYPES_BY];
	struct store *store;
	struct filter filter = { 0 };
	struct types types = { 0 };
	struct shiny_err *err = store_open(ctl->options.operands[0], &store);

	if (err)
		return err;
	err = ctl_filter(ctl, store, &filter);
	if (!err && ctl->options.given[OPT_MEMBERS]) {
		err = members_show(ctl, store, &filter, ctl->options.text[OPT_MEMBERS]);
		filter_deinit(&filter);
		if (err) {
			store_close(store);
			return err;
		}
		return ctl_end(ctl, store, "types");
	}
	if (!err)
		err = types_load(store, &filter, by, ctl->options.text[OPT_MATCH], order_of(ctl),
				 &types);
	filter_deinit(&filter);
	if (err) {
		store_close(store);
		return err;
	}
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_text(&ctl->json, "by", ctl->options.text[OPT_TYPES_BY]);
		json_object_line(&ctl->json, "total");
		json_sums(&ctl->json, &types.total);
		json_end(&ctl->json);
		json_levels(ctl, &types);
		json_types(ctl, "rows", &types, by, ctl_limit(ctl, types.count, 30));
	} else {
		print_types(ctl, &types, by, ctl_limit(ctl, types.count, 30));
		putc('\n', ctl->style.out);
		print_levels(ctl, &types);
	}
	types_deinit(&types);
	return ctl_end(ctl, store, by == TYPES_BY_BLOCK ? "types --by container" : "sites");
}
