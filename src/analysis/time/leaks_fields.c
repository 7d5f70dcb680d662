/* SPDX-License-Identifier: Apache-2.0 */
#include "../../base/bars.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "leaks.h"

/* Sets how fast the row grows, as text. */
static void get_rate(const void *row, struct field_value *out)
{
	const struct leak_row *r = row;

	if (r->grows)
		field_set_owned(out,
				mem_format("%s (\xc2\xb1 %s), %s", units_short(UNITS_BUF, r->slope),
					   units_short(UNITS_BUF, r->slope_error),
					   units_bytes(UNITS_BUF, (uint64_t)r->bytes_slope)));
}

static void get_trend(const void *row, struct field_value *out)
{
	const struct leak_row *r = row;
	uint64_t counts[LEAK_MOMENTS];

	for (unsigned i = 0; i < LEAK_MOMENTS; i++)
		counts[i] = r->counts[i];
	field_set_owned(out, bars_text(counts, LEAK_MOMENTS, LEAK_MOMENTS / 2));
}

/* clang-format off */
#define ROW struct leak_row
#define RESULT struct leaks
static const struct field row_fields[] = {
	{ FIELD_TEXT("name", ROW, name), FIELD_BY_NAME,
	  .help = "the call site, type, component or tag" },
	{ FIELD_FULL_NAME(ROW), .help = "the same, not shortened" },
	{ FIELD_COUNT("blocks", ROW, left.blocks),
	  .help = "blocks that nobody freed until their process ended" },
	{ FIELD_BYTES("bytes", ROW, left.bytes), .help = "their bytes" },
	{ FIELD_GROUP(ROW, left, estimated_fields) },
	{ FIELD_SHARE("of_bytes", ROW, left.bytes, RESULT, left.bytes) },
	{ FIELD_COUNT("suppressed", ROW, suppressed),
	  .help = "blocks that --suppressions leaves out" },
	{ FIELD_COUNT("allocs", ROW, made), .title = "allocated", .help = "all blocks allocated" },
	{ FIELD_FLAG("grows", ROW, grows),
	  .help = "the number of its live blocks rises throughout, as the description says" },
	{ FIELD_WORKED_OUT("rate", TEXT, get_rate), .column_only = true,
	  .title = "grows a second", .tint = TINT_WARN },
	{ FIELD_REAL("slope", ROW, slope), .help = "live blocks gained a second" },
	{ FIELD_REAL("slope_error", ROW, slope_error), .help = "the standard error of the slope" },
	{ FIELD_REAL("bytes_slope", ROW, bytes_slope), .help = "live bytes gained a second" },
	{ FIELD_TIME("oldest_ns", ROW, oldest_ns), .help = "the birth of the oldest live block" },
	{ FIELD_TIME("youngest_ns", ROW, youngest_ns), .title = "newest after",
	  .help = "the birth of the youngest live block" },
	{ FIELD_ID("stack", ROW, stack), .help = "the id of the youngest block's stack" },
	{ FIELD_NUMBERS("counts", ROW, counts), .help = "the live blocks at 40 moments" },
	{ FIELD_WORKED_OUT("trend", TEXT, get_trend), .column_only = true,
	  .title = "live blocks over time" },
	FIELD_LAST
};
const struct field leaks_fields[] = {
	{ FIELD_COUNT("blocks", RESULT, left.blocks),
	  .help = "blocks that nobody freed until their process ended" },
	{ FIELD_BYTES("bytes", RESULT, left.bytes), .help = "their bytes" },
	{ FIELD_GROUP(RESULT, left, estimated_fields) },
	{ FIELD_COUNT("abandoned", RESULT, abandoned),
	  .help = "of these, blocks of processes that ended before the session's end" },
	{ FIELD_BYTES("abandoned_bytes", RESULT, abandoned_bytes), .help = "their bytes" },
	{ FIELD_COUNT("suppressed", RESULT, suppressed),
	  .help = "blocks that --suppressions leaves out" },
	{ FIELD_BYTES("suppressed_bytes", RESULT, suppressed_bytes), .help = "their bytes" },
	{ FIELD_ROWS("rows", RESULT, rows, count, row_fields), .limited = true,
	  .shows = "bytes margin/5 blocks of_bytes allocs/3 rate/1 trend/2 youngest_ns/4 name",
	  .help = "a call site, type, component or tag" },
	FIELD_LAST
};
