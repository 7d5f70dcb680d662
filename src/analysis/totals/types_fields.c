/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../../base/mem.h"
#include "../../base/text.h"
#include "../query/type_name.h"
#include "types.h"

static void get_name(const void *row, struct field_value *out)
{
	static const char *const none[] = { [TYPES_BY_TYPE] = "(no type)",
					    [TYPES_BY_CONTAINER] = "(no container)",
					    [TYPES_BY_MODULE] = "(no module)" };
	const struct type_row *r = row;
	bool block = r->by == TYPES_BY_BLOCK;

	if (!block && !r->name)
		field_set_text(out, none[r->by]);
	else if (r->by <= TYPES_BY_TYPE)
		field_set_owned(out, type_name_block(&(struct type_text){
					     .type = block ? r->type : r->name,
					     .container = block ? r->container : NULL,
					     .form = block ? r->form : NULL,
					     .confidence = r->confidence,
					     .derived = r->or_derived,
					     .full = r->full }));
	else if (r->by == TYPES_BY_CONTAINER && !r->full)
		field_set_owned(out, type_name_short(r->name));
	else
		field_set_text(out, r->name);
}

FIELD_GETTER_BLANK(get_rule, struct type_row, text, r->rules,
		   r->by == TYPES_BY_RULE || (r->rules && strcmp(r->rules, "none") == 0))
FIELD_GETTER_BLANK(get_confidence, struct type_row, text, r->confidence,
		   r->by == TYPES_BY_CONFIDENCE)
FIELD_GETTER_BLANK(get_source, struct type_row, text, r->sources ? r->sources : "none",
		   !r->sources || r->by > TYPES_BY_TYPE)
FIELD_GETTER_BLANK(get_class_bytes, struct type_row, number, r->class_bytes,
		   !r->class_bytes || r->by > TYPES_BY_TYPE)
FIELD_GETTER_BLANK(get_module_name, struct type_row, text, r->module ? text_base(r->module) : NULL,
		   r->by == TYPES_BY_MODULE)
FIELD_SKIP(is_unused, struct type_level, !r->sums.allocs && !r->sums.inherited)

/* clang-format off */
#define ROW struct type_row
#define LEVEL struct type_level
#define RESULT struct types
const struct field type_level_fields[] = {
	{ FIELD_TEXT("name", LEVEL, name), .title = "how sure", .tint = TINT_NAME,
	  .help = "exact, high, medium, low, label or none" },
	{ FIELD_GROUP(LEVEL, sums, sums_fields) },
	{ FIELD_SHARE("of_allocations", LEVEL, sums.allocs, RESULT, all_levels.allocs) },
	{ FIELD_SHARE("of_bytes", LEVEL, sums.bytes, RESULT, all_levels.bytes) },
	{ FIELD_SHARE("of_live_bytes", LEVEL, sums.live_bytes, RESULT, all_levels.live_bytes) },
	{ FIELD_TEXT("meaning", LEVEL, meaning), .title = "", .column_only = true, .flexible = true,
	  .cut = TEXT_CUT_END, .tint = TINT_DIM },
	FIELD_LAST
};
const struct field type_row_fields[] = {
	{ FIELD_WORKED_OUT("name", TEXT, get_name), FIELD_BY_NAME,
	  .help = "the type, or what else makes a row, as in the table" },
	{ FIELD_SHARE("share", ROW, value, RESULT, value), .title_at = offsetof(RESULT, share) },
	{ FIELD_BAR("bar", ROW, value, RESULT, value) },
	{ FIELD_TEXT("type", ROW, type),
	  .help = "the type in full; null: unknown, or different within the row" },
	{ FIELD_TEXT("container", ROW, container), .help = "the container that owns the blocks" },
	{ FIELD_TEXT("form", ROW, form), .help = "object, array, node or buffer" },
	{ FIELD_WORKED_OUT("rule", TEXT, get_rule), .help = "the rules that gave the type" },
	{ FIELD_WORKED_OUT("confidence", TEXT, get_confidence), .title = "sure",
	  .help = "how sure the type is: exact, high, medium, low, label or none" },
	{ FIELD_FLAG("or_derived", ROW, or_derived),
	  .help = "the type, or a class derived from it" },
	{ FIELD_TEXT("module", ROW, module),
	  .help = "the module with all its call sites; null: several" },
	{ FIELD_WORKED_OUT("module_name", TEXT, get_module_name), .title = "module",
	  .column_only = true, .flexible = true, .cut = TEXT_CUT_MIDDLE, .tint = TINT_DIM },
	{ FIELD_WORKED_OUT("source", TEXT, get_source), .title = "from",
	  .help = "site, or the source of a class known by its vtable: symbol, rtti, label or "
		  "building" },
	{ FIELD_GROUP(ROW, sums, sums_fields) },
	{ FIELD_WORKED_OUT("class_bytes", BYTES, get_class_bytes), .title = "size",
	  .help = "bytes of an object; 0: unknown" },
	{ FIELD_BYTES("min_size", ROW, least_size), .help = "the smallest requested size" },
	{ FIELD_BYTES("max_size", ROW, most_size), .help = "the largest requested size" },
	{ FIELD_COUNT("at_least", ROW, at_least),
	  .help = "allocations whose vtable pointer was read only at the free" },
	{ FIELD_COUNT("sites", ROW, sites), .help = "call sites of the blocks" },
	{ FIELD_COUNT("processes", ROW, processes), .help = "processes with such blocks" },
	FIELD_LAST
};
const struct field types_fields[] = {
	{ FIELD_TEXT("by", RESULT, by), .help = "the value of --by" },
	{ FIELD_OBJECT("total", RESULT, total, sums_fields),
	  .help = "the sums of all rows, also of those that --limit leaves out" },
	{ FIELD_ARRAY("confidence", RESULT, levels, type_level_fields),
	  .help = "a level of confidence, over all blocks" },
	{ FIELD_ARRAY("levels", RESULT, levels, type_level_fields), .column_only = true,
	  .skip = is_unused,
	  .shows = "name of_allocations of_bytes of_live_bytes allocs/1 meaning/2" },
	{ FIELD_ROWS("rows", RESULT, rows, count, type_row_fields), .limited = true,
	  .shows = "share bar/9 live_bytes margin/4 live/1 allocs/2 frees/8 bytes/5 sites/7 "
		   "class_bytes/10 name rule/4 confidence/3 source/11 module_name/12",
	  .help = "a type, container, rule, level of confidence or module" },
	FIELD_LAST
};
