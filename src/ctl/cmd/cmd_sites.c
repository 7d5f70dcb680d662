/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_sites.c: `shinyctl sites`. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/query/type_name.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"

enum {
	SHARE,
	BAR,
	LIVE_BYTES,
	LIVE,
	ALLOCS,
	FREES,
	BYTES,
	PEAK,
	STACKS,
	SITE,
	WHERE,
	TYPE,
	MODULE,
	COLUMNS
};
static const struct column columns[COLUMNS] = {
	[SITE] = { "site", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[WHERE] = { .title = "where",
		    .kind = CELL_TEXT,
		    .flexible = true,
		    .cut = TEXT_CUT_START,
		    .drop = 2 },
	[LIVE_BYTES] = { .title = "live bytes", .kind = CELL_BYTES },
	[SHARE] = { .title = "share", .kind = CELL_SHARE },
	[BAR] = { .title = "", .kind = CELL_BAR, .drop = 7, .tint = TINT_GOOD },
	[LIVE] = { .title = "live", .kind = CELL_COUNT, .drop = 3 },
	[ALLOCS] = { .title = "allocs", .kind = CELL_COUNT },
	[FREES] = { .title = "frees", .kind = CELL_COUNT, .drop = 5 },
	[BYTES] = { .title = "bytes", .kind = CELL_BYTES, .drop = 4 },
	[PEAK] = { .title = "peak ≤", .kind = CELL_BYTES, .drop = 8 },
	[STACKS] = { .title = "stacks", .kind = CELL_COUNT, .drop = 9 },
	[TYPE] = { .title = "type",
		   .kind = CELL_TEXT,
		   .flexible = true,
		   .cut = TEXT_CUT_MIDDLE,
		   .drop = 6 },
	[MODULE] = { .title = "module",
		     .kind = CELL_TEXT,
		     .flexible = true,
		     .cut = TEXT_CUT_MIDDLE,
		     .drop = 10,
		     .tint = TINT_DIM },
};

static enum sums_order order_of(const struct ctl *ctl)
{
	static const struct {
		const char *word;
		enum sums_order order;
	} words[] = {
		{ "bytes", ORDER_BYTES }, { "allocs", ORDER_ALLOCS }, { "frees", ORDER_FREES },
		{ "peak", ORDER_PEAK },	  { "name", ORDER_NAME },
	};
	const char *text = ctl->options.text[OPT_SITES_SORT];

	for (size_t i = 0; text && i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, text) == 0)
			return words[i].order;
	return ORDER_LIVE;
}

/* "file.cc:123", with the directories where there is room for them */
static char *where_of(const struct site_row *row, bool whole)
{
	if (!row->file)
		return NULL;
	return row->line ? mem_format("%s:%u", whole ? row->file : text_base(row->file), row->line)
			 : mem_text(whole ? row->file : text_base(row->file));
}

static char *type_of(const struct site_row *row, bool full)
{
	return type_name_block(&(struct type_text){ .type = row->type,
						    .container = row->container,
						    .form = row->form,
						    .confidence = row->confidence,
						    .derived = row->or_derived,
						    .full = full });
}

/* Every function of the stack on a line of its own. */
static struct shiny_err *stack_text(struct store *store, uint32_t stack, const struct style *style,
				    char **out)
{
	struct stack_lines lines;
	struct shiny_err *err = stack_load(store, stack, &lines);
	size_t size;
	FILE *text;

	if (err)
		return err;
	text = open_memstream(out, &size);
	if (!text) {
		stack_deinit(&lines);
		return SHINY_NO_MEMORY;
	}
	for (size_t i = 0; i < lines.count; i++) {
		const struct stack_line *line = &lines.rows[i];
		size_t columns_left = style->width     ? style->width - 8
				      : style->longest ? 2 * style->longest
						       : 4000;
		char *whole = line->file
				      ? mem_format("%s  %s:%u", line->label, line->file, line->line)
				      : mem_format("%s  %s", line->label,
						   line->module ? line->module : "");
		char *fitted = mem_alloc(4 * columns_left + 8);

		text_fit(fitted, 4 * columns_left + 8, whole, columns_left, TEXT_CUT_MIDDLE);
		fprintf(text, "    %s%s%s%s\n", tint(style, TINT_DIM),
			line->inlined ? "\xe2\x86\xb3 " : "  ", fitted, tint_end(style, TINT_DIM));
		free(fitted);
		free(whole);
	}
	stack_deinit(&lines);
	return fclose(text) == 0 ? NULL : SHINY_NO_MEMORY;
}

/* `store`: to read stacks from; NULL: without them. */
static struct shiny_err *print(struct ctl *ctl, struct store *store, const struct sites *sites,
			       enum sites_by by, size_t limit)
{
	enum sums_order order = order_of(ctl);
	uint64_t total = sums_by(&sites->total, order, 0);
	struct shiny_err *err = NULL;
	struct table table;

	for (size_t i = 0; order == ORDER_PEAK && i < sites->count; i++)
		total += sites->rows[i].peak_bytes;
	table_init(&table, columns, COLUMNS);
	table_total(&table, SHARE, total);
	table_total(&table, BAR, total);
	for (size_t i = 0; i < limit && !err; i++) {
		const struct site_row *row = &sites->rows[i];
		uint64_t value = sums_by(&row->sums, order, row->peak_bytes);
		char *where = by <= SITES_BY_FUNCTION
				      ? where_of(row, !ctl->style.width || ctl->style.width >= 160)
				      : NULL,
		     *stack = NULL;

		table_row(&table);
		table_text(&table, SITE, row->label);
		if (where)
			table_text(&table, WHERE, where);
		table_number(&table, LIVE_BYTES, row->sums.live_bytes);
		table_number(&table, SHARE, value);
		table_number(&table, BAR, value);
		table_number(&table, LIVE, row->sums.live);
		table_number(&table, ALLOCS, row->sums.allocs);
		table_number(&table, FREES, row->sums.frees);
		table_number(&table, BYTES, row->sums.bytes);
		table_number(&table, PEAK, row->peak_bytes);
		if (row->stacks)
			table_number(&table, STACKS, row->stacks);
		if (row->type) {
			char *type = type_of(row, ctl->options.given[OPT_FULL_NAMES]);
			char *text = row->types > 1
					     ? mem_format("%s and %s more", type,
							  units_count(UNITS_BUF, row->types - 1))
					     : mem_text(type);

			table_text(&table, TYPE, text);
			free(text);
			free(type);
		}
		if (row->module && by != SITES_BY_MODULE)
			table_text(&table, MODULE, text_base(row->module));
		if (store && row->stack &&
		    !(err = stack_text(store, row->stack, &ctl->style, &stack)))
			table_below(&table, stack);
		free(where);
	}
	if (!err) {
		table_print(&table, &ctl->style);
		ctl_more(ctl, limit, sites->count);
	}
	table_deinit(&table);
	return err;
}

struct shiny_err *json_stack(struct json *json, struct store *store, const char *key,
			     uint32_t stack)
{
	struct stack_lines lines = { 0 };
	struct shiny_err *err = stack ? stack_load(store, stack, &lines) : NULL;

	if (err)
		return err;
	json_array(json, key);
	for (size_t i = 0; i < lines.count; i++) {
		json_object_line(json, NULL);
		json_text(json, "function", lines.rows[i].label);
		json_text(json, "file", lines.rows[i].file);
		json_number(json, "line", lines.rows[i].line);
		json_text(json, "module", lines.rows[i].module);
		json_bool(json, "inlined", lines.rows[i].inlined);
		json_end(json);
	}
	json_end(json);
	stack_deinit(&lines);
	return NULL;
}

struct shiny_err *json_sites(struct ctl *ctl, struct store *store, const char *key,
			     const struct sites *sites, size_t limit, bool stacks)
{
	struct json *json = &ctl->json;

	json_array(json, key);
	for (size_t i = 0; i < limit; i++) {
		const struct site_row *row = &sites->rows[i];

		if (stacks)
			json_object(json, NULL);
		else
			json_object_line(json, NULL);
		json_text(json, "label", row->label);
		json_text(json, "function", row->function);
		json_text(json, "file", row->file);
		json_number(json, "line", row->line);
		json_text(json, "module", row->module);
		json_sums(json, &row->sums);
		json_number_or_null(json, "peak_bytes", row->peak_bytes, sites->peaks);
		json_number(json, "stacks", row->stacks);
		json_text(json, "type", row->type);
		json_text(json, "container", row->container);
		json_text(json, "form", row->form);
		json_text(json, "confidence", row->confidence);
		json_number(json, "types", row->types);
		if (stacks && row->stack) {
			struct shiny_err *err = json_stack(json, store, "stack", row->stack);

			if (err)
				return err;
		}
		json_end(json);
	}
	json_end(json);
	return NULL;
}

struct shiny_err *cmd_sites(struct ctl *ctl)
{
	struct store *store;
	struct filter filter = { 0 };
	struct sites sites = { 0 };
	/* options.def lists them in this order */
	enum sites_by by = (enum sites_by)ctl->options.number[OPT_SITES_BY];
	bool stacks = ctl->options.given[OPT_STACKS];
	struct shiny_err *err = ctl_begin(ctl, &store, &filter), *closing;

	if (!err)
		err = ctl_loaded(store, &filter,
				 sites_load(store, &filter, by, ctl->options.text[OPT_MATCH],
					    order_of(ctl), true, &sites));
	if (err)
		return err;
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_object_line(&ctl->json, "total");
		json_sums(&ctl->json, &sites.total);
		json_end(&ctl->json);
		err = json_sites(ctl, store, "rows", &sites, ctl_limit(ctl, sites.count, 30),
				 stacks);
	} else {
		err = print(ctl, stacks ? store : NULL, &sites, by,
			    ctl_limit(ctl, sites.count, 30));
	}
	sites_deinit(&sites);
	closing = ctl_end(ctl, store, stacks ? "tree --by site" : "sites --stacks --limit 5");
	if (err) {
		shiny_err_free(closing);
		return err;
	}
	return closing;
}
