/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_sites.c: `shinyctl sites`. */
#include <stdlib.h>

#include "../../analysis/attribute/call_tree.h"
#include "../../analysis/query/type_name.h"
#include "../../answer/answer.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "call_tree_text.h"
#include "../dimension.h"
#include "../verb_body.h"

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

/* The context of the rows: where stacks come from, how they are printed, and what went wrong. */
struct sites_context {
	struct stack_source from; /* first: it is the context of sites_stacks_fields */
	const struct style *style;
	struct shiny_err *err;
};

static char *stacks_text(const void *row, void *context)
{
	struct sites_context *c = context;
	char *out;
	size_t size;
	FILE *text = mem_stream_open(&out, &size);

	if (!c->err)
		c->err = put_stacks(&c->from, row, c->style, text);
	mem_stream_close(text);
	return out;
}

/* ---- call trees ---- */

/* The ways to show stacks; only one can be chosen. */
static const enum option_id views[] = { OPT_STACKS, OPT_CALLERS, OPT_CALLEES };

static struct shiny_err *check_views(const struct ctl *ctl)
{
	const bool *given = ctl->options.given;
	const char *one = NULL;
	enum sums_order order = sums_order_of(ctl->options.text[OPT_SORT]);

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
	if (given[OPT_BY] && ctl->options.by != BY_LINE && ctl->options.by != BY_FUNCTION)
		return shiny_err(SHINY_ERR_USAGE,
				 "sites: --%s shows functions, or with --by line "
				 "their lines: not --by %s",
				 one, ctl->options.text[OPT_BY]);
	if (order == ORDER_PEAK || order == ORDER_NAME)
		return shiny_err(SHINY_ERR_USAGE,
				 "sites: --%s: stacks have no %s: sort by live, "
				 "bytes, allocs or frees",
				 one, ctl->options.text[OPT_SORT]);
	return NULL;
}

static struct call_tree_query tree_query(const struct ctl *ctl)
{
	const bool *given = ctl->options.given;

	return (struct call_tree_query){
		.direction = given[OPT_CALLEES] ? CALLS_CALLEES : CALLS_CALLERS,
		.label = given[OPT_BY] && ctl->options.by == BY_LINE ? CALL_LINE : CALL_FUNCTION,
		.order = sums_order_of(ctl->options.text[OPT_SORT]),
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
		json_text(&ctl->json, "measure", ctl->options.text[OPT_SORT]);
		json_number(&ctl->json, "total", root.value);
		json_number(&ctl->json, "blocks", root.blocks);
		call_tree_json(&ctl->json, "nodes", &root);
	} else {
		call_tree_print(&ctl->style, &root, &query);
	}
	tree_deinit(&root);
	return NULL;
}

static struct shiny_err *show_rows(struct ctl *ctl, struct store *store,
				   const struct filter *filter)
{
	enum sites_by by = dimension_sites(ctl->options.by);
	enum sums_order order = sums_order_of(ctl->options.text[OPT_SORT]);
	bool stacks = ctl->options.given[OPT_STACKS], full = ctl->options.given[OPT_FULL_NAMES];
	struct sites_context context = { { store, filter, by, order, 0, full }, &ctl->style, NULL };
	struct sites sites = { 0 };
	struct answer answer = { .fields = stacks ? sites_stacks_fields : sites_fields,
				 .result = &sites,
				 .context = &context,
				 .below = stacks ? stacks_text : NULL };

	SHINY_TRY(sites_load(store, filter, by, ctl->options.text[OPT_MATCH], order, true, &sites));
	answer.limit = ctl_limit(ctl, sites.count, 30);
	context.from.least = (double)ctl->options.number[OPT_THRESHOLD] / 1e6 *
			     (double)sums_by(&sites.total, order, sites.total.live_bytes);
	for (size_t i = 0; i < sites.count; i++) {
		sites.rows[i].full = full && !CTL_JSON(ctl);
		sites.rows[i].whole = !ctl->style.width || ctl->style.width >= 160;
	}
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		context.err = answer_json(&answer, &ctl->json);
	} else {
		answer_table(&answer, "rows", &ctl->style);
		ctl_more(ctl, answer.limit, sites.count);
	}
	sites_deinit(&sites);
	return context.err;
}

static struct shiny_err *cmd_sites(struct ctl *ctl)
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

const struct verb_body verb_sites = { .run = cmd_sites };
