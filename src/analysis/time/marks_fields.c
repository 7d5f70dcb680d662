/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "../../base/mem.h"
#include "marks.h"

/* Sets the mark's name for --between, with its number if several marks have the name. */
static void get_mark(const void *row, struct field_value *out)
{
	const struct mark_row *r = row;

	if (r->number)
		field_set_owned(out, mem_format("%s#%" PRIu32, r->name, r->number));
	else
		field_set_text(out, r->name ? r->name : "(start)");
}

FIELD_SKIPPER(is_row_uncounted, struct mark_row, !r->counted)

static bool is_uncounted(const void *result)
{
	return !((const struct marks *)result)->counted;
}

/* clang-format off */
#define ROW struct mark_row
#define RESULT struct marks
static const struct field counted_fields[] = {
	{ FIELD_COUNT("live", ROW, live), .title = "blocks", .help = "blocks live at the mark" },
	{ FIELD_BYTES("live_bytes", ROW, live_bytes), .title = "live then",
	  .help = "their bytes" },
	{ FIELD_BYTES("peak_bytes", ROW, peak_bytes), .title = "peak since",
	  .help = "most live bytes until the next mark" },
	{ FIELD_COUNT("allocs", ROW, allocs), .help = "blocks allocated until the next mark" },
	{ FIELD_BYTES("bytes", ROW, bytes), .help = "their bytes" },
	{ FIELD_COUNT("frees", ROW, frees), .help = "blocks freed until the next mark" },
	FIELD_LAST
};
static const struct field row_fields[] = {
	{ FIELD_TEXT("name", ROW, name), .help = "the mark; null: the session's start" },
	{ FIELD_WORKED_OUT("mark", TEXT, get_mark), .column_only = true, .flexible = true,
	  .cut = TEXT_CUT_END, .tint = TINT_NAME },
	{ FIELD_ID("process", ROW, process),
	  .help = "the process that set it; 0: set from outside" },
	{ FIELD_ID("pid", ROW, pid), .blank_zero = true,
	  .help = "the pid of the process; 0: set from outside" },
	{ FIELD_ID("tid", ROW, tid), .help = "the thread that set it; 0: set from outside" },
	{ FIELD_TIME("at_ns", ROW, time), .title = "at", .help = "when it was set" },
	{ FIELD_TIME("length_ns", ROW, length), .title = "then for",
	  .help = "the time until the next mark" },
	{ FIELD_SAME(counted_fields), .skip = is_row_uncounted },
	FIELD_LAST
};
static const struct field end_fields[] = {
	{ FIELD_COUNT("live", RESULT, live), .help = "blocks live at the end" },
	{ FIELD_BYTES("live_bytes", RESULT, live_bytes), .help = "their bytes" },
	FIELD_LAST
};
const struct field marks_fields[] = {
	{ FIELD_ROWS("rows", RESULT, rows, count, row_fields), .limited = true,
	  .shows = "at_ns length_ns/2 live_bytes live/4 peak_bytes allocs bytes/1 frees/3 pid/5 "
		   "mark",
	  .help = "a mark" },
	{ FIELD_SAME(end_fields), .skip = is_uncounted },
	FIELD_LAST
};
