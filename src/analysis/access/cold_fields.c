/* SPDX-License-Identifier: Apache-2.0 */
#include "../../base/mem.h"
#include "../../base/units.h"
#include "cold.h"

static const char *const time_names[COLD_TIMES] = { "100ms", "1s", "10s" };

FIELD_SKIP(is_unrecorded, struct cold, !r->recorded)
FIELD_SKIP(is_open, struct access_time, r->until == UINT64_MAX)
FIELD_SKIP(is_row_unknown, struct cold_row, !r->known)

/* Sets the cold bytes with their interval, as text. */
static void get_cold(const void *row, struct field_value *out)
{
	const struct cold_row *r = row;

	if (r->known)
		field_set_owned(out, mem_format("%s (%s\xe2\x80\x93%s)",
						units_bytes(UNITS_BUF, (uint64_t)r->cold),
						units_bytes(UNITS_BUF, (uint64_t)r->cold_low),
						units_bytes(UNITS_BUF, (uint64_t)r->cold_high)));
	else
		field_set_text(out, "unknown");
}

/* Sets a share that is used with its interval, as text. */
static void set_used(struct field_value *out, const struct use_share *used)
{
	if (used->watches > 0)
		field_set_owned(out, mem_format("%s (%.0f\xe2\x80\x93%.0f)",
						units_share(UNITS_BUF, used->share, 1),
						used->low * 100, used->high * 100));
	else
		field_set_text(out, "unknown");
}

static void get_blocks_used(const void *row, struct field_value *out)
{
	const struct cold_row *r = row;

	set_used(out, &r->blocks[r->within]);
}

static void get_bytes_used(const void *row, struct field_value *out)
{
	const struct cold_row *r = row;

	set_used(out, &r->bytes[r->within]);
}

FIELD_SKIP(is_unknown, struct use_share, !(r->watches > 0))

/* clang-format off */
static const struct field share_fields[] = {
	{ FIELD_REAL("share", struct use_share, share), .help = "the share that is used, 0 to 1" },
	{ FIELD_REAL("low", struct use_share, low), .help = "the lower end of its 95 % interval" },
	{ FIELD_REAL("high", struct use_share, high), .help = "the upper end" },
	{ FIELD_REAL("watches", struct use_share, watches),
	  .help = "the number of watches that it rests on" },
	FIELD_LAST
};
/* Fields of an array of COLD_TIMES shares. */
#define WITHIN(name, at)                                                                           \
	.key = name, .kind = FIELD_KIND_OBJECT, .offset = (at) * sizeof(struct use_share),         \
	.fields = share_fields, .skip = is_unknown
static const struct field shares_fields[] = {
	{ WITHIN("100ms", 0), .help = "used within 100 ms; null: unknown" },
	{ WITHIN("1s", 1), .help = "used within 1 s; null: unknown" },
	{ WITHIN("10s", 2), .help = "used within 10 s; null: unknown" },
	FIELD_LAST
};
#define ROW struct cold_row
static const struct field row_fields[] = {
	{ FIELD_TEXT("name", ROW, name), FIELD_BY_NAME, .help = "the type or call site" },
	{ FIELD_FULL_NAME(ROW), .help = "the same, not shortened" },
	{ FIELD_COUNT("live", ROW, live), .title = "live blocks",
	  .help = "blocks not freed when their process ended" },
	{ FIELD_BYTES("live_bytes", ROW, live_bytes), .title = "live bytes",
	  .help = "their bytes" },
	{ FIELD_COUNT("watched", ROW, watched), .help = "watched blocks" },
	{ FIELD_COUNT("reads", ROW, reads), .title = "read",
	  .help = "first uses that were seen and are reads" },
	{ FIELD_COUNT("writes", ROW, writes), .title = "written",
	  .help = "first uses that were seen and are writes" },
	{ FIELD_TIME("untouched_ns", ROW, untouched), .title = "untouched for",
	  .help = "the longest time that a block was watched without a use" },
	{ FIELD_WORKED_OUT("cold", TEXT, get_cold), .column_only = true,
	  .title = "cold bytes (95 %)" },
	{ FIELD_WORKED_OUT("used_blocks", TEXT, get_blocks_used), .column_only = true,
	  .title = "blocks used" },
	{ FIELD_WORKED_OUT("used_bytes", TEXT, get_bytes_used), .column_only = true,
	  .title = "bytes used" },
	{ FIELD_BYTES("cold_bytes", ROW, cold), .skip = is_row_unknown,
	  .help = "live bytes that are not used within the time; null: unknown" },
	{ FIELD_BYTES("cold_low", ROW, cold_low), .skip = is_row_unknown,
	  .help = "the lower end of their 95 % interval; null: unknown" },
	{ FIELD_BYTES("cold_high", ROW, cold_high), .skip = is_row_unknown,
	  .help = "the upper end; null: unknown" },
	{ FIELD_OBJECT("blocks_used", ROW, blocks, shares_fields),
	  .help = "the share of blocks whose first word is used within each time" },
	{ FIELD_OBJECT("bytes_used", ROW, bytes, shares_fields),
	  .help = "the share of bytes that are used within each time" },
	FIELD_LAST
};
static const struct field time_fields[] = {
	{ FIELD_TIME("from_ns", struct access_time, from), .help = "its begin" },
	{ FIELD_TIME("until_ns", struct access_time, until), .skip = is_open,
	  .help = "its end; null: the session's end" },
	FIELD_LAST
};
#define RESULT struct cold
const struct field cold_fields[] = {
	{ FIELD_FLAG("recorded", RESULT, recorded), .help = "accesses were recorded" },
	{ FIELD_COUNT("watched", RESULT, watched), .skip = is_unrecorded,
	  .help = "watched blocks; null: none were to be" },
	{ FIELD_ROWS("on", RESULT, on.at.at, on.at.count, time_fields),
	  .help = "a time of watching" },
	{ FIELD_WORD("within", RESULT, within, time_names),
	  .help = "the time after which unused bytes count as cold" },
	{ FIELD_BYTES("live_bytes", RESULT, live_bytes), .help = "bytes live at the end" },
	{ FIELD_BYTES("unknown_bytes", RESULT, unknown_bytes),
	  .help = "of these, bytes of rows without a watched block" },
	{ FIELD_ROWS("rows", RESULT, rows, count, row_fields), .limited = true,
	  .shows = "cold live_bytes used_bytes live/2 used_blocks watched/1 reads/4 writes/4 "
		   "untouched_ns/3 name",
	  .help = "a type or call site" },
	FIELD_LAST
};
