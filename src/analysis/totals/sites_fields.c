/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "../../answer/answer.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../query/type_name.h"
#include "sites.h"

FIELD_GETTER(get_name, struct site_row, owned, type_name_function(r->label))

/* Sets the name in the table. */
static void get_site(const void *row, struct field_value *out)
{
	const struct site_row *r = row;

	if (r->full || r->by > SITES_BY_FUNCTION)
		field_set_text(out, r->label);
	else
		get_name(row, out);
}

/* Sets "file.cc:123", with directories if there is room. */
static void get_where(const void *row, struct field_value *out)
{
	const struct site_row *r = row;

	if (r->by <= SITES_BY_FUNCTION && r->file && r->line) /* else the label has the place */
		field_set_owned(out, mem_format("%s:%u", r->whole ? r->file : text_base(r->file),
						r->line));
}

static void get_type_name(const void *row, struct field_value *out)
{
	const struct site_row *r = row;

	if (r->type)
		field_set_owned(out, type_name_block(&(struct type_text){
					     .type = r->type,
					     .container = r->container,
					     .form = r->form,
					     .confidence = r->confidence,
					     .derived = r->or_derived,
					     .full = r->full }));
}

/* Sets the type, or "3 types". */
static void get_types(const void *row, struct field_value *out)
{
	const struct site_row *r = row;

	if (!r->type && r->types > 1)
		field_set_owned(out, mem_text(units_noun(UNITS_NOUN_BUF, r->types, "type")));
	else
		get_type_name(row, out);
}

FIELD_GETTER_BLANK(get_module_name, struct site_row, text, r->module ? text_base(r->module) : NULL,
		   r->by == SITES_BY_MODULE)
FIELD_GETTER_KNOWN(get_peak, struct site_row, number, r->peak_bytes, r->peaks)

static struct shiny_err *put_stacks(const void *row, struct json *json, const char *key,
				    void *context)
{
	const struct stack_source *from = ((const struct site_row *)row)->from;
	AUTO_FREE struct site_stack *rows = NULL;
	struct site_stacks stacks;

	(void)context;
	SHINY_TRY(site_stacks_load(from->store, from->filter, from->by, row, from->order, &stacks));
	rows = stacks.rows;
	json_array(json, key);
	for (size_t i = 0; i < stacks.count && (double)rows[i].value >= from->least; i++) {
		json_object(json, NULL);
		json_number(json, "value", rows[i].value);
		json_number(json, "blocks", rows[i].blocks);
		SHINY_TRY(sites_json_stack(json, from->store, "stack", rows[i].id));
		json_end(json);
	}
	json_end(json);
	return NULL;
}

FIELD_SKIP(has_no_source, struct site_row, !r->from)

/* clang-format off */
#define LINE struct stack_line
static const struct field line_fields[] = {
	{ FIELD_TEXT("function", LINE, label), .help = "the function, or its place" },
	{ FIELD_TEXT("file", LINE, file), .help = "its source file; null: unknown" },
	{ FIELD_ID("line", LINE, line), .help = "the line; 0: unknown" },
	{ FIELD_TEXT("module", LINE, module), .help = "the module" },
	{ FIELD_FLAG("inlined", LINE, inlined), .help = "the call was inlined" },
	FIELD_LAST
};
const struct field stack_lines_fields[] = {
	{ FIELD_ROWS("stack", struct stack_lines, rows, count, line_fields),
	  .help = "a function of the stack, innermost first" },
	FIELD_LAST
};

#define ROW struct site_row
#define RESULT struct sites
static const struct field call_stacks_fields[] = {
	{ .key = "call_stacks", .kind = FIELD_KIND_PUT, .put = put_stacks,
	  .help = "with --stacks, heaviest first: value (as --sort names it), blocks, and stack: "
		  "function, file, line, module and inlined, innermost first" },
	FIELD_LAST
};
const struct field site_row_fields[] = {
	{ FIELD_TEXT("label", ROW, label), .help = "the name in full" },
	{ FIELD_WORKED_OUT("name", TEXT, get_name), .help = "the name as in the table" },
	{ FIELD_WORKED_OUT("site", TEXT, get_site), FIELD_NAME, .column_only = true },
	{ FIELD_WORKED_OUT("where", TEXT, get_where), .column_only = true, .flexible = true,
	  .cut = TEXT_CUT_START },
	{ FIELD_SHARE("share", ROW, value, RESULT, value), .title_at = offsetof(RESULT, share) },
	{ FIELD_BAR("bar", ROW, value, RESULT, value) },
	{ FIELD_WORKED_OUT("type_name", TEXT, get_type_name),
	  .help = "the type as in the table" },
	{ FIELD_TEXT("function", ROW, function), .help = "the function; null: unknown" },
	{ FIELD_TEXT("file", ROW, file), .help = "the source file; null: unknown" },
	{ FIELD_ID("line", ROW, line), .help = "the line; 0: unknown" },
	{ FIELD_TEXT("module", ROW, module), .help = "the module; null: unknown" },
	{ FIELD_WORKED_OUT("module_name", TEXT, get_module_name), .title = "module",
	  .column_only = true, .flexible = true, .cut = TEXT_CUT_MIDDLE, .tint = TINT_DIM },
	{ FIELD_GROUP(ROW, sums, sums_fields) },
	{ FIELD_WORKED_OUT("peak_bytes", BYTES, get_peak), .title = "peak \xe2\x89\xa4",
	  .help = "the sum of the peaks of its stacks: an upper bound; null: unknown" },
	{ FIELD_COUNT("stacks", ROW, stacks), .blank_zero = true, .help = "stacks of the site" },
	{ FIELD_TEXT("type", ROW, type),
	  .help = "the type in full of more than half of the blocks; null: none" },
	{ FIELD_WORKED_OUT("type_or_types", TEXT, get_types), .title = "type", .column_only = true,
	  .flexible = true, .cut = TEXT_CUT_MIDDLE },
	{ FIELD_TEXT("container", ROW, container), .help = "the container of that type" },
	{ FIELD_TEXT("form", ROW, form), .help = "object, array, node or buffer" },
	{ FIELD_TEXT("confidence", ROW, confidence), .help = "how sure that type is" },
	{ FIELD_COUNT("types", ROW, types), .help = "different types of the blocks" },
	{ FIELD_SAME(call_stacks_fields), .skip = has_no_source, .spread = true },
	FIELD_LAST
};
const struct field sites_fields[] = {
	{ FIELD_OBJECT("total", RESULT, total, sums_fields),
	  .help = "the sums of all rows, also of those that --limit leaves out" },
	{ FIELD_ROWS("rows", RESULT, rows, count, site_row_fields), .limited = true,
	  .shows = "share bar/8 live_bytes margin/4 live/4 allocs/3 frees/6 bytes/5 peak_bytes/9 "
		   "stacks/10 site where/2 type_or_types/7 module_name/11",
	  .help = "a call site" },
	FIELD_LAST
};
/* clang-format on */

struct shiny_err *sites_json_stack(struct json *json, struct store *store, const char *key,
			     uint32_t stack)
{
	SHINY_CLEANUP(stack_deinit) struct stack_lines lines = { 0 };
	const struct answer answer = { .fields = stack_lines_fields, .result = &lines };

	SHINY_TRY(stack ? stack_load(store, stack, &lines) : NULL);
	return answer_json_list(&answer, "stack", json, key);
}
