/* SPDX-License-Identifier: Apache-2.0 */
/* check_fields.c: describes the results of `shinyctl check`. */
#include "check_report.h"

FIELD_SKIP(has_no_value, struct check_result,
	      r->state == CHECK_UNKNOWN || r->nothing || (r->rule.each && !r->broken))
FIELD_SKIP(is_absolute, struct check_result, !r->rule.relative)
FIELD_SKIP(is_no_lifetime, struct check_result, r->rule.measure != CHECK_LIFETIME)
FIELD_SKIP(is_one, struct check_result, !r->rule.each)
FIELD_SKIP(is_of_one, struct check_part, !r->relative)
FIELD_SKIP(has_no_base, struct check_report, !r->pair.paths[0])
FIELD_GETTER(get_measure, struct check_result, text, check_measures[r->rule.measure].name)
FIELD_GETTER(get_status, struct check_report, number, (uint64_t)check_report_status(r))
FIELD_GETTER(get_holds, struct check_report, number, check_report_count(r, CHECK_HOLDS))
FIELD_GETTER(get_fails, struct check_report, number, check_report_count(r, CHECK_FAILS))
FIELD_GETTER(get_unknown, struct check_report, number, check_report_count(r, CHECK_UNKNOWN))

/* clang-format off */
#define REPORT struct check_report
#define ENTRY struct check_result
#define PART struct check_part
static const struct field part_base_field[] = {
	{ FIELD_COUNT("base", PART, base), .help = "its value in the base" },
	FIELD_LAST
};
static const struct field part_fields[] = {
	{ FIELD_TEXT("name", PART, name), .help = "its name" },
	{ FIELD_SAME(part_base_field), .skip = is_of_one },
	{ FIELD_COUNT("value", PART, value), .help = "what it adds to the value" },
	FIELD_LAST
};
static const struct field base_value_field[] = {
	{ FIELD_COUNT("base", ENTRY, base), .help = "the value of the base" },
	FIELD_LAST
};
static const struct field range_fields[] = {
	{ FIELD_COUNT("value_low", ENTRY, low),
	  .help = "of lifetimes, and where blocks are a sample: the value is known to lie from "
		  "here" },
	{ FIELD_COUNT("value_high", ENTRY, high), .help = "to here" },
	{ FIELD_FLAG("divided", ENTRY, divided),
	  .help = "the limit divides what it may be, and the rule counts as kept" },
	FIELD_LAST
};
static const struct field value_fields[] = {
	{ FIELD_COUNT("value", ENTRY, value),
	  .help = "the value, in blocks, bytes or ns; of an `each` rule that of the worst row" },
	{ FIELD_COUNT("limit", ENTRY, limit), .help = "the limit for it" },
	{ FIELD_SAME(base_value_field), .skip = is_absolute },
	{ FIELD_SAME(range_fields), .skip = is_no_lifetime },
	FIELD_LAST
};
static const struct field each_fields[] = {
	{ FIELD_COUNT("rows", ENTRY, rows), .help = "of an `each` rule: rows examined" },
	{ FIELD_COUNT("broken", ENTRY, broken), .help = "rows over the limit" },
	{ FIELD_TEXT("worst", ENTRY, worst), .help = "the name of the worst; null: none" },
	FIELD_LAST
};
static const struct field rule_fields[] = {
	{ FIELD_TEXT("rule", ENTRY, rule.text), .help = "the rule as written" },
	{ FIELD_TEXT("file", ENTRY, rule.file), .optional = true, .help = "the file of --rules" },
	{ FIELD_ID("line", ENTRY, rule.line), .optional = true, .help = "its line there" },
	{ FIELD_WORD("state", ENTRY, state, check_states),
	  .help = "holds, fails or unknown" },
	{ FIELD_WORKED_OUT("measure", TEXT, get_measure), .help = "what it limits" },
	{ FIELD_WORD("op", ENTRY, rule.op, check_ops), .help = "how it compares" },
	{ FIELD_SAME(value_fields), .skip = has_no_value },
	{ FIELD_SAME(each_fields), .skip = is_one },
	{ FIELD_FLAG("nothing", ENTRY, nothing), .help = "its selectors match nothing" },
	{ FIELD_TEXT("why", ENTRY, why), .optional = true, .help = "why it is unknown" },
	{ FIELD_ROWS("evidence", ENTRY, parts, part_count, part_fields),
	  .help = "of a rule that fails: a call site, or type, that makes up the value" },
	FIELD_LAST
};
#define SESSION(side) \
	{ FIELD_TEXT("file", REPORT, pair.paths[side]), .help = "the session, as given" }, \
	{ FIELD_GROUP(REPORT, pair.losses[side], losses_fields) },
static const struct field base_fields[] = { SESSION(0) FIELD_LAST };
static const struct field new_fields[] = { SESSION(1) FIELD_LAST };
static const struct field base_field[] = {
	{ FIELD_SAME_OBJECT("base", base_fields), .spread = true,
	  .help = "with --base: the base" },
	FIELD_LAST
};
const struct field check_fields[] = {
	{ FIELD_TEXT("tag", REPORT, tag), .help = "the value of --tag; null: none" },
	{ FIELD_TEXT("between", REPORT, between), .help = "the value of --between; null: none" },
	{ FIELD_WORKED_OUT("status", ID, get_status), .help = "0, 1 or 3, as the exit status" },
	{ FIELD_WORKED_OUT("holds", COUNT, get_holds), .help = "rules that hold" },
	{ FIELD_WORKED_OUT("fails", COUNT, get_fails), .help = "rules that fail" },
	{ FIELD_WORKED_OUT("unknown", COUNT, get_unknown), .help = "rules that cannot be told" },
	{ FIELD_ROWS("rules", REPORT, results.at, results.count, rule_fields), .help = "a rule" },
	{ FIELD_SAME(base_field), .skip = has_no_base },
	{ FIELD_SAME_OBJECT("new", new_fields), .spread = true, .help = "the session" },
	FIELD_LAST
};
