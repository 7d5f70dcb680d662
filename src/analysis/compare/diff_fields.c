/* SPDX-License-Identifier: Apache-2.0 */
/* diff_fields.c: describes the differences between two sessions. */
#include "diff.h"

FIELD_SKIP(is_missing, struct diff_side, !r->members)
FIELD_SKIP(is_untimed, struct diff_side, !r->timed)

/* clang-format off */
#define DIFF struct diff
#define ROW struct diff_row
#define SIDE struct diff_side
#define MEASURES(EACH, what) \
	EACH("live", LIVE, what "live bytes") \
	EACH("peak", PEAK, what "the most bytes live at once") \
	EACH("bytes", BYTES, what "requested bytes") \
	EACH("blocks", BLOCKS, what "allocations") \
	EACH("size", SIZE, what "the size of each block") \
	EACH("lifetime", LIFETIME, what "lifetimes")
#define PLACE(name, ID, text) \
	{ FIELD_ID(name, ROW, places[DIFF_##ID]), .optional = true, .help = text },
#define RANK(name, ID, text) \
	{ FIELD_REAL(name, ROW, ranks[DIFF_##ID]), .optional = true, .help = text },
static const struct field place_fields[] = {
	MEASURES(PLACE, "its place, from 1, by the change of ") FIELD_LAST
};
static const struct field rank_fields[] = {
	MEASURES(RANK, "the weight of the change of ") FIELD_LAST
};
static const struct field times_fields[] = {
	{ FIELD_BYTES("peak_bytes", SIDE, peak_bytes), .help = "the most bytes live at once" },
	{ FIELD_COUNT("ended", SIDE, ended), .help = "blocks that ended: lifetimes are theirs" },
	{ FIELD_TIME("p10_ns", SIDE, p10_ns), .help = "a tenth of them lived at most that long" },
	{ FIELD_TIME("p50_ns", SIDE, p50_ns), .help = "half of them lived at most that long" },
	{ FIELD_TIME("p90_ns", SIDE, p90_ns), .help = "nine tenths lived at most that long" },
	{ FIELD_COUNT("p50_steps", SIDE, p50_steps),
	  .help = "the same half, in blocks allocated meanwhile" },
	{ FIELD_COUNT("episodes", SIDE, episodes), .help = "the episodes in which they ended" },
	FIELD_LAST
};
static const struct field side_fields[] = {
	{ FIELD_GROUP(SIDE, sums, sums_fields) },
	{ FIELD_BYTES("size", SIDE, size), .help = "the size of each block; 0: they differ" },
	{ FIELD_SAME(times_fields), .skip = is_untimed },
	FIELD_LAST
};
static const struct field row_fields[] = {
	{ FIELD_TEXT("name", ROW, name), .help = "the type, call site, component or role" },
	{ FIELD_FULL_NAME(ROW), .help = "the same, not shortened" },
	{ FIELD_WORD("match", ROW, how, match_names),
	  .help = "how it was found in both sessions, a key of `sites`" },
	{ FIELD_TEXT("mostly", ROW, mostly),
	  .help = "of a type the call site, else the type, that changed most; null: none" },
	{ FIELD_SAME_OBJECT("place", place_fields),
	  .help = "its places among the rows, growth first; missing: no difference" },
	{ FIELD_SAME_OBJECT("rank", rank_fields),
	  .help = "what the places are by; below 0: less; missing: no difference" },
	{ FIELD_OBJECT("base", ROW, sides[0], side_fields), .skip = is_missing,
	  .help = "the row in the base; null: it is not there" },
	{ FIELD_OBJECT("new", ROW, sides[1], side_fields), .skip = is_missing,
	  .help = "the row in the newer session; null: it is not there" },
	FIELD_LAST
};
#define SITES(name, ID, text) { FIELD_COUNT(name, DIFF, sites[MATCH_##ID]), .help = text },
static const struct field site_fields[] = {
	SITES("only", ONLY, "in one session")
	SITES("name", NAME, "by name")
	SITES("address", ADDRESS, "without a name, by the address in the same file")
	SITES("order", ORDER, "one of several in a function, by their order")
	SITES("moved", MOVED, "the function has other parameters, or is in another file")
	SITES("calls", CALLS, "without a name, by the calls around them")
	SITES("together", TOGETHER, "cannot be told apart, and count as one")
	FIELD_LAST
};
const struct field diff_fields[] = {
	{ FIELD_FLAG("timed", DIFF, timed), .help = "peaks and lifetimes were compared: both "
	  "sessions have events, and --sort is not given, or is peak or lifetime" },
	{ FIELD_COUNT("different", DIFF, count), .help = "rows that differ" },
	{ FIELD_COUNT("same", DIFF, same), .help = "rows that do not" },
	{ FIELD_SAME_OBJECT("sites", site_fields),
	  .help = "call sites by how they were matched; by component and role all 0" },
	{ FIELD_ROWS("rows", DIFF, rows, count, row_fields), .limited = true,
	  .help = "a row that differs" },
	FIELD_LAST
};
