/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_sites.c: `shinyctl sites`. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/attribute/call_tree.h"
#include "../../analysis/query/type_name.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../call_tree_text.h"
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
static const struct table_column columns[COLUMNS] = {
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

/* Returns "file.cc:123", with directories if there is room */
static char *where_of(const struct site_row *row, bool whole)
{
	if (!row->file || !row->line) /* the label has the place */
		return NULL;
	return mem_format("%s:%u", whole ? row->file : text_base(row->file), row->line);
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

/* The source of the rows' stacks. */
struct stack_source {
	struct store *store;
	const struct filter *filter;
	enum sites_by by;
	enum sums_order order;
	double least; /* lighter stacks are only added up */
	bool full;    /* names are not shortened */
};

/* Prints every function of the stack on a line of its own. */
static struct shiny_err *put_stack(const struct stack_source *from, uint32_t stack,
				   const struct style *style, FILE *text)
{
	size_t columns_left = style->width     ? style->width - 8
			      : style->longest ? 2 * style->longest
					       : 4000;
	struct stack_lines lines;
	struct shiny_err *err = stack_load(from->store, stack, &lines);

	if (err)
		return err;
	for (size_t i = 0; i < lines.count; i++) {
		const struct stack_line *line = &lines.rows[i];
		char *name = from->full ? mem_text(line->label) : type_name_function(line->label);
		char *whole =
			line->file && line->line
				? mem_format("%s  %s:%u", name, line->file, line->line)
				: mem_format("%s  %s", name, line->module ? line->module : "");
		char *fitted = mem_alloc(4 * columns_left + 8);

		text_fit(fitted, 4 * columns_left + 8, whole, columns_left, TEXT_CUT_MIDDLE);
		fprintf(text, "    %s%s%s%s\n", tint(style, TINT_DIM),
			line->inlined ? "\xe2\x86\xb3 " : "  ", fitted, tint_end(style, TINT_DIM));
		free(fitted);
		free(whole);
		free(name);
	}
	stack_deinit(&lines);
	return NULL;
}

static void put_weight(FILE *text, const struct stack_source *from, uint64_t value, uint64_t blocks)
{
	if (from->order == ORDER_ALLOCS || from->order == ORDER_FREES)
		fprintf(text, "%s\n",
			units_noun(UNITS_NOUN_BUF, value,
				   from->order == ORDER_FREES ? "free" : "allocation"));
	else
		fprintf(text, "%s, %s\n", units_bytes(UNITS_BUF, value),
			units_noun(UNITS_NOUN_BUF, blocks, "block"));
}

/* Prints a row's stacks, each below its weight; small ones in one line. */
static struct shiny_err *put_stacks(const struct stack_source *from, const struct site_row *row,
				    const struct style *style, FILE *text)
{
	struct site_stacks stacks;
	uint64_t value = 0, blocks = 0;
	size_t i = 0;
	struct shiny_err *err =
		site_stacks_load(from->store, from->filter, from->by, row, from->order, &stacks);

	if (err)
		return err;
	for (; i < stacks.count && (double)stacks.rows[i].value >= from->least && !err; i++) {
		fputs("  ", text);
		put_weight(text, from, stacks.rows[i].value, stacks.rows[i].blocks);
		err = put_stack(from, stacks.rows[i].id, style, text);
	}
	for (size_t n = i; n < stacks.count; n++) {
		value += stacks.rows[n].value;
		blocks += stacks.rows[n].blocks;
	}
	if (i < stacks.count) {
		fprintf(text, "  %s: ",
			units_noun(UNITS_NOUN_BUF, stacks.count - i,
				   i ? "smaller stack" : "stack below the threshold"));
		put_weight(text, from, value, blocks);
	}
	free(stacks.rows);
	return err;
}

static struct shiny_err *stacks_text(const struct stack_source *from, const struct site_row *row,
				     const struct style *style, char **out)
{
	size_t size;
	FILE *text = mem_stream_open(out, &size);
	struct shiny_err *err = put_stacks(from, row, style, text);

	mem_stream_close(text);
	if (err) {
		free(*out);
		*out = NULL;
	}
	return err;
}

/* `from`: reads the stacks; NULL: prints none. */
static struct shiny_err *print(struct ctl *ctl, const struct stack_source *from,
			       const struct sites *sites, enum sites_by by, size_t limit)
{
	enum sums_order order = order_of(ctl);
	bool full = ctl->options.given[OPT_FULL_NAMES];
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
		     *stack = NULL, *label;

		table_row(&table);
		label = full || by > SITES_BY_FUNCTION ? mem_text(row->label)
						       : type_name_function(row->label);
		table_text(&table, SITE, label);
		free(label);
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
			char *type = type_of(row, full);

			table_text(&table, TYPE, type);
			free(type);
		} else if (row->types > 1) {
			table_text(&table, TYPE, units_noun(UNITS_NOUN_BUF, row->types, "type"));
		}
		if (row->module && by != SITES_BY_MODULE)
			table_text(&table, MODULE, text_base(row->module));
		if (from && !(err = stacks_text(from, row, &ctl->style, &stack)))
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

static struct shiny_err *json_stacks(struct json *json, const struct stack_source *from,
				     const struct site_row *row)
{
	struct site_stacks stacks;
	struct shiny_err *err =
		site_stacks_load(from->store, from->filter, from->by, row, from->order, &stacks);

	if (err)
		return err;
	json_array(json, "call_stacks");
	for (size_t i = 0; i < stacks.count && !err; i++) {
		if ((double)stacks.rows[i].value < from->least)
			break;
		json_object(json, NULL);
		json_number(json, "value", stacks.rows[i].value);
		json_number(json, "blocks", stacks.rows[i].blocks);
		err = json_stack(json, from->store, "stack", stacks.rows[i].id);
		json_end(json);
	}
	json_end(json);
	free(stacks.rows);
	return err;
}

/* Puts the row's names as in the table: the function, and the blocks' type. */
static void json_short(struct json *json, const struct site_row *row)
{
	char *name = type_name_function(row->label), *type = row->type ? type_of(row, false) : NULL;

	json_text(json, "name", name);
	json_text(json, "type_name", type);
	free(type);
	free(name);
}

/* `from`: reads the stacks; NULL: puts none. */
static struct shiny_err *json_rows(struct json *json, const struct sites *sites, const char *key,
				   size_t limit, const struct stack_source *from)
{
	json_array(json, key);
	for (size_t i = 0; i < limit; i++) {
		const struct site_row *row = &sites->rows[i];

		if (from)
			json_object(json, NULL);
		else
			json_object_line(json, NULL);
		json_text(json, "label", row->label);
		json_short(json, row);
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
		if (from)
			SHINY_TRY(json_stacks(json, from, row));
		json_end(json);
	}
	json_end(json);
	return NULL;
}

struct shiny_err *json_sites(struct ctl *ctl, const char *key, const struct sites *sites,
			     size_t limit)
{
	return json_rows(&ctl->json, sites, key, limit, NULL);
}

/* ---- call trees ---- */

/* The ways to show stacks; only one can be chosen. */
static const enum option_id views[] = { OPT_STACKS, OPT_CALLERS, OPT_CALLEES };

static struct shiny_err *check_views(const struct ctl *ctl)
{
	const bool *given = ctl->options.given;
	const char *one = NULL;
	enum sums_order order = order_of(ctl);

	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		const char *name = option_specs[views[i]].name;

		if (!given[views[i]])
			continue;
		if (one)
			return shiny_err(SHINY_ERR_USAGE, "sites: --%s and --%s: one of them", one,
					 name);
		one = name;
	}
	if (!one && given[OPT_THRESHOLD])
		return shiny_err(SHINY_ERR_USAGE, "sites: --threshold is for --stacks, --callers "
						  "and --callees");
	if (!one || given[OPT_STACKS])
		return given[OPT_WRAPPERS]
			       ? shiny_err(SHINY_ERR_USAGE, "sites: --wrappers is for --callers "
							    "and --callees")
			       : NULL;
	if (given[OPT_SITES_BY] && ctl->options.number[OPT_SITES_BY] > SITES_BY_FUNCTION)
		return shiny_err(SHINY_ERR_USAGE,
				 "sites: --%s shows functions, or with --by line "
				 "their lines: not --by %s",
				 one, ctl->options.text[OPT_SITES_BY]);
	if (order == ORDER_PEAK || order == ORDER_NAME)
		return shiny_err(SHINY_ERR_USAGE,
				 "sites: --%s: stacks have no %s: sort by live, "
				 "bytes, allocs or frees",
				 one, ctl->options.text[OPT_SITES_SORT]);
	return NULL;
}

static struct call_tree_query tree_query(const struct ctl *ctl)
{
	const bool *given = ctl->options.given;

	return (struct call_tree_query){
		.direction = given[OPT_CALLEES] ? CALLS_CALLEES : CALLS_CALLERS,
		.label = given[OPT_SITES_BY] && !ctl->options.number[OPT_SITES_BY] ? CALL_LINE
										   : CALL_FUNCTION,
		.order = order_of(ctl),
		.match = ctl->options.text[OPT_MATCH],
		.threshold = (double)ctl->options.number[OPT_THRESHOLD] / 1e6,
		.wrappers = given[OPT_WRAPPERS],
		.full = given[OPT_FULL_NAMES],
	};
}

static struct shiny_err *show_tree(struct ctl *ctl, struct store *store,
				   const struct filter *filter)
{
	struct call_tree_query query = tree_query(ctl);
	struct tree_node root = { 0 };
	struct shiny_err *err;

	err = call_tree_load(store, filter, &query, &root);
	if (err)
		return err;
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_text(&ctl->json, "direction",
			  query.direction == CALLS_CALLERS ? "callers" : "callees");
		json_text(&ctl->json, "measure", ctl->options.text[OPT_SITES_SORT]);
		json_number(&ctl->json, "total", root.value);
		json_number(&ctl->json, "blocks", root.blocks);
		json_call_tree(&ctl->json, "nodes", &root);
	} else {
		call_tree_print(&ctl->style, &root, &query);
	}
	tree_deinit(&root);
	return NULL;
}

static struct shiny_err *show_rows(struct ctl *ctl, struct store *store,
				   const struct filter *filter)
{
	/* options.def lists them in this order */
	enum sites_by by = (enum sites_by)ctl->options.number[OPT_SITES_BY];
	struct stack_source source = { store,	      filter, by,
				       order_of(ctl), 0,      ctl->options.given[OPT_FULL_NAMES] };
	const struct stack_source *from = ctl->options.given[OPT_STACKS] ? &source : NULL;
	struct sites sites = { 0 };
	struct shiny_err *err = sites_load(store, filter, by, ctl->options.text[OPT_MATCH],
					   order_of(ctl), true, &sites);
	size_t limit;

	if (err)
		return err;
	limit = ctl_limit(ctl, sites.count, 30);
	source.least = (double)ctl->options.number[OPT_THRESHOLD] / 1e6 *
		       (double)sums_by(&sites.total, source.order, sites.total.live_bytes);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_object_line(&ctl->json, "total");
		json_sums(&ctl->json, &sites.total);
		json_end(&ctl->json);
		err = json_rows(&ctl->json, &sites, "rows", limit, from);
	} else {
		err = print(ctl, from, &sites, by, limit);
	}
	sites_deinit(&sites);
	return err;
}

struct shiny_err *cmd_sites(struct ctl *ctl)
{
	const bool *given = ctl->options.given;
	bool tree = given[OPT_CALLERS] || given[OPT_CALLEES];
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = check_views(ctl);

	if (!err)
		err = ctl_begin(ctl, &store, &filter);
	if (err)
		return err;
	err = ctl_loaded(store, &filter,
			 tree ? show_tree(ctl, store, &filter) : show_rows(ctl, store, &filter));
	if (err)
		return err;
	return ctl_end(ctl, store, given[OPT_CALLERS] ? "sites --callees" : "sites --callers");
}
