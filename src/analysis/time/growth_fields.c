/* SPDX-License-Identifier: Apache-2.0 */
#include "../../base/mem.h"
#include "../../base/units.h"
#include "growth.h"

FIELD_GETTER(get_waste, struct growth_row, number, growth_waste(r))

/* Sets the policy with its factor or step, as text. */
static void get_grows(const void *row, struct field_value *out)
{
	const struct growth_row *r = row;
	const char *step = units_bytes(UNITS_BUF, r->step_bytes);

	if (r->policy == GROWTH_GEOMETRIC)
		field_set_owned(out, mem_format("\xc3\x97 %.2f", r->factor));
	else if (r->policy == GROWTH_CONSTANT)
		field_set_owned(out, mem_format("+ %s", step));
	else if (r->policy == GROWTH_JUST_ENOUGH)
		field_set_owned(out, mem_format("just enough, + %s", step));
	else
		field_set_text(out, growth_policy_names[r->policy]);
}

FIELD_SKIP(has_no_factor, struct growth_row, r->policy != GROWTH_GEOMETRIC)

static bool has_no_step(const void *row)
{
	enum growth_policy policy = ((const struct growth_row *)row)->policy;

	return policy != GROWTH_CONSTANT && policy != GROWTH_JUST_ENOUGH;
}

/* clang-format off */
#define ROW struct growth_row
static const struct field factor_fields[] = {
	{ FIELD_REAL("factor", ROW, factor), .help = "of geometric growth: the factor" },
	FIELD_LAST
};
static const struct field step_fields[] = {
	{ FIELD_BYTES("step_bytes", ROW, step_bytes),
	  .help = "of constant and just-enough growth: bytes of a step" },
	FIELD_LAST
};
static const struct field row_fields[] = {
	{ FIELD_TEXT("site", ROW, name), FIELD_NAME, .help = "the call site" },
	{ FIELD_COUNT("buffers", ROW, chains), .help = "buffers that grew" },
	{ FIELD_COUNT("steps", ROW, steps), .help = "times that one of them grew" },
	{ FIELD_COUNT("reallocs", ROW, reallocs), .help = "of the steps, those by realloc" },
	{ FIELD_COUNT("most_steps", ROW, most_steps), .title = "most",
	  .help = "most steps of one buffer" },
	{ FIELD_BYTES("largest", ROW, largest), .help = "the largest size of a buffer" },
	{ FIELD_BYTES("cumulative", ROW, cumulative),
	  .help = "bytes of all blocks on the way" },
	{ FIELD_BYTES("doubling", ROW, doubling), .title = "by doubling",
	  .help = "bytes of all blocks that the same growth by doubling takes" },
	{ FIELD_WORKED_OUT("waste", BYTES, get_waste),
	  .help = "cumulative bytes above those of doubling" },
	{ FIELD_WORD("policy", ROW, policy, growth_policy_names),
	  .help = "how the buffers grow: geometric, constant, just enough or mixed" },
	{ FIELD_WORKED_OUT("grows", TEXT, get_grows), .column_only = true },
	{ FIELD_SAME(factor_fields), .skip = has_no_factor },
	{ FIELD_SAME(step_fields), .skip = has_no_step },
	FIELD_LAST
};
const struct field growth_fields[] = {
	{ FIELD_ROWS("rows", struct growth, rows, count, row_fields), .limited = true,
	  .shows = "waste cumulative doubling/2 largest/4 buffers/3 steps most_steps/5 grows/1 "
		   "site",
	  .help = "a call site whose buffers grow" },
	FIELD_LAST
};
