/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_sites.c: `shinyctl sites`. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../analysis/attribute/call_tree.h"
#include "../../analysis/query/type_name.h"
#include "../../answer/answer.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/text.h"
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
	if (lines.cut)
		fprintf(text, "    %s  <cut off at %" PRIu64 " frames>%s\n", tint(style, TINT_DIM),
			lines.cut, tint_end(style, TINT_DIM));
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

/* The context of the text below a row: its style, and the first error. */
struct stacks_text {
	const struct style *style;
	struct shiny_err *err;
};

static char *stacks_text(const void *row, void *context)
{
	const struct site_row *site = row;
	struct stacks_text *c = context;
	char *out;
	size_t size;
	FILE *text = mem_stream_open(&out, &size);

	if (!c->err)
		c->err = put_stacks(site->from, site, c->style, text);
	mem_stream_close(text);
	return out;
}

static struct shiny_err *print_sites(struct ctl *ctl, const struct answer *answer)
{
	struct stacks_text context = { &ctl->style, NULL };
	struct answer shown = *answer;
	const struct sites *sites = answer->result;

	if (ctl->options.given[OPT_STACKS]) {
		shown.below = stacks_text;
		shown.context = &context;
	}
	verb_body_table(ctl, &shown);
	if (sites->count && ctl->options.by == BY_LINE) {
		const struct site_row *first = sites->rows;
		AUTO_FREE char *name =
			first->file && first->line
				? mem_format("%s:%u", text_base(first->file), first->line)
				: mem_text(first->label);

		ctl_why(ctl, true, name);
	}
	return context.err;
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

struct calls_row {	     /* a node of the tree, which owns it */
	uint64_t id, parent; /* parent 0: none */
	struct tree_node node;
};
struct calls_answer {
	struct call_tree_query query;
	const char *measure;
	struct tree_node root;
	VEC(struct calls_row)
	rows; /* parents first: nested objects would be deeper than readers
	       * of JSON allow */
};

static void add_calls(struct calls_answer *to, const struct tree_node *node, uint64_t parent)
{
	for (size_t i = 0; i < node->count; i++) {
		uint64_t id = to->rows.count + 1;

		*vec_push(&to->rows) = (struct calls_row){ id, parent, node->children[i] };
		add_calls(to, &node->children[i], id);
	}
}

static struct shiny_err *load_calls(struct ctl *ctl, struct store *store,
				    const struct filter *filter, void *result)
{
	struct calls_answer *out = result;

	SHINY_TRY(check_views(ctl));
	out->query = tree_query(ctl);
	out->measure = ctl->options.text[OPT_SORT];
	SHINY_TRY(call_tree_load(store, filter, &out->query, &out->root));
	add_calls(out, &out->root, 0);
	return NULL;
}

static void deinit_calls(void *result)
{
	struct calls_answer *calls = result;

	free(calls->rows.at);
	tree_deinit(&calls->root);
}

static struct shiny_err *print_calls(struct ctl *ctl, const struct answer *answer)
{
	const struct calls_answer *calls = answer->result;

	call_tree_print(&ctl->style, &calls->root, &calls->query);
	return NULL;
}

static bool asks_for_calls(const struct ctl *ctl)
{
	return ctl->options.given[OPT_CALLERS] || ctl->options.given[OPT_CALLEES];
}

static const char *next_of_sites(const struct ctl *ctl)
{
	return ctl->options.given[OPT_CALLERS] ? "sites --callees" : "sites --callers";
}

static void get_parent(const void *row, struct field_value *out)
{
	const struct calls_row *r = row;

	if (r->parent)
		field_set_number(out, r->parent);
}

/* clang-format off */
#define ROW struct calls_row
#define RESULT struct calls_answer
static const char *const directions[] = { "callers", "callees" }; /* of enum call_direction */
static const struct field calls_row_fields[] = {
	{ FIELD_ID("id", ROW, id), .help = "its number" },
	{ FIELD_WORKED_OUT("parent", ID, get_parent),
	  .help = "the number of the node above it; null: none" },
	{ FIELD_TEXT("name", ROW, node.name), .help = "the function, or its line" },
	{ FIELD_COUNT("value", ROW, node.value), .help = "what it has of the measure" },
	{ FIELD_COUNT("blocks", ROW, node.blocks), .help = "its blocks" },
	{ FIELD_GROUP(ROW, node, tree_share_fields) },
	FIELD_LAST
};
static const struct field calls_fields[] = {
	{ FIELD_WORD("direction", RESULT, query.direction, directions),
	  .help = "callers or callees" },
	{ FIELD_TEXT("measure", RESULT, measure), .help = "the word of --sort" },
	{ FIELD_COUNT("total", RESULT, root.value), .help = "the measure of all stacks" },
	{ FIELD_COUNT("blocks", RESULT, root.blocks), .help = "their blocks" },
	{ FIELD_ROWS("nodes", RESULT, rows.at, rows.count, calls_row_fields),
	  .help = "a node of the tree, after the one above it" },
	FIELD_LAST
};
/* clang-format on */

static const struct verb_body calls_body = {
	.fields = calls_fields,
	.size = sizeof(struct calls_answer),
	.load = load_calls,
	.deinit = deinit_calls,
	.print = print_calls,
	.next_of = next_of_sites,
	.fits = asks_for_calls,
	.when = "With --callers or --callees",
};

/* ---- rows ---- */

struct sites_answer {
	struct sites sites; /* first: it has the fields */
	struct stack_source from;
};

static struct shiny_err *load_sites(struct ctl *ctl, struct store *store,
				    const struct filter *filter, void *result)
{
	enum sites_by by = dimension_sites(ctl->options.by);
	enum sums_order order = sums_order_of(ctl->options.text[OPT_SORT]);
	bool full = ctl->options.given[OPT_FULL_NAMES];
	struct sites_answer *out = result;
	struct sites *sites = &out->sites;

	SHINY_TRY(check_views(ctl));
	SHINY_TRY(sites_load(store, filter, by, ctl->options.text[OPT_MATCH], order, true, sites));
	out->from =
		(struct stack_source){ .store = store,
				       .filter = filter,
				       .by = by,
				       .order = order,
				       .full = full,
				       .least = (double)ctl->options.number[OPT_THRESHOLD] / 1e6 *
						(double)sums_by(&sites->total, order,
								sites->total.live_bytes) };
	for (size_t i = 0; i < sites->count; i++) {
		struct site_row *row = &sites->rows[i];

		row->full = full && !CTL_JSON(ctl);
		row->whole = !ctl->style.width || ctl->style.width >= 160;
		row->from = ctl->options.given[OPT_STACKS] ? &out->from : NULL;
	}
	return NULL;
}
VERB_BODY_DEINIT(struct sites, sites_deinit)

const struct verb_body verb_sites = {
	.fields = sites_fields,
	.size = sizeof(struct sites_answer),
	.load = load_sites,
	.deinit = sites_deinit_result,
	.usual = 30,
	.print = print_sites,
	.next_of = next_of_sites,
	.instead = &calls_body,
};
