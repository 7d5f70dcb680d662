/* SPDX-License-Identifier: Apache-2.0 */
#include "../../base/mem.h"
#include "../../base/units.h"
#include "sizes.h"

FIELD_GETTER(get_slop, struct size_sums, number, size_slop(r))
FIELD_GETTER(get_live_slop, struct size_sums, number, size_live_slop(r))
FIELD_GETTER(get_share, struct size_sums, owned,
	     mem_text(units_share(UNITS_BUF, (double)size_slop(r), (double)r->usable)))
FIELD_GETTER_BLANK(get_least, struct sizes_row, number, r->least, !r->sums.blocks)
FIELD_GETTER_BLANK(get_most, struct sizes_row, number, r->most, !r->sums.blocks)
FIELD_GETTER(get_mean_size, struct sizes_row, number, r->sums.bytes / r->sums.blocks)
FIELD_GETTER_BLANK(get_geometric_mean, struct sizes_row, real, sizes_geometric_mean(r), !r->ended)
FIELD_SKIP(is_no_class, struct sizes_row, !r->is_class)
FIELD_GETTER_BLANK(get_octave_mean, struct sizes_octave, real,
		   distribution_geometric_mean(&r->ages), !r->ages.ended)
FIELD_GETTER_BLANK(get_p50, struct sizes_octave, number, distribution_quantile(&r->ages, 0.5),
		   !r->ages.ended)
FIELD_GETTER_BLANK(get_p90, struct sizes_octave, number, distribution_quantile(&r->ages, 0.9),
		   !r->ages.ended)
FIELD_SKIP(is_unused, struct sizes_row, !r->sums.blocks && !r->sums.live)
FIELD_SKIP(is_empty, struct sizes_octave, !r->sums.blocks)

/* clang-format off */
#define SUMS struct size_sums
#define ROW struct sizes_row
#define OCTAVE struct sizes_octave
static const struct field size_sums_fields[] = {
	{ FIELD_COUNT("blocks", SUMS, blocks), .help = "blocks allocated" },
	{ FIELD_BYTES("bytes", SUMS, bytes), .title = "asked for", .help = "requested bytes" },
	{ FIELD_BYTES("usable", SUMS, usable), .help = "bytes that malloc_usable_size() returns" },
	{ FIELD_WORKED_OUT("slop", BYTES, get_slop),
	  .help = "usable bytes that were not requested" },
	{ FIELD_WORKED_OUT("share", TEXT, get_share), .column_only = true },
	{ FIELD_BYTES("slots", SUMS, slots), .help = "bytes that the allocator takes" },
	{ FIELD_COUNT("live", SUMS, live), .help = "blocks that are live at the end" },
	{ FIELD_BYTES("live_bytes", SUMS, live_bytes), .help = "their requested bytes" },
	{ FIELD_BYTES("live_usable", SUMS, live_usable), .help = "their usable bytes" },
	{ FIELD_WORKED_OUT("live_slop", BYTES, get_live_slop), .help = "their slop" },
	{ FIELD_BYTES("live_slots", SUMS, live_slots),
	  .help = "bytes that the allocator takes for them" },
	FIELD_LAST
};
static const struct field total_fields[] = {
	{ FIELD_GROUP(ROW, sums, size_sums_fields) },
	{ FIELD_WORKED_OUT("mean_size", BYTES, get_mean_size), .column_only = true },
	{ FIELD_WORKED_OUT("least", BYTES, get_least), .help = "the smallest requested size" },
	{ FIELD_WORKED_OUT("most", BYTES, get_most), .help = "the largest requested size" },
	{ FIELD_COUNT("ended", ROW, ended), .help = "blocks that were freed" },
	{ FIELD_COUNT("persistent", ROW, persistent), .title = "never ended",
	  .help = "blocks that were not" },
	{ FIELD_WORKED_OUT("geometric_mean_ns", TIME, get_geometric_mean),
	  .title = "lived, geo mean",
	  .help = "the geometric mean of the lifetimes of those freed" },
	FIELD_LAST
};
static const struct field named_fields[] = {
	{ FIELD_TEXT("name", ROW, name), FIELD_BY_NAME, .help = "the allocator, or the type" },
	{ FIELD_SAME(total_fields) },
	FIELD_LAST
};
static const struct field class_fields[] = {
	{ FIELD_WORD("allocator", ROW, allocator, size_allocator_names),
	  .help = "of a size class: its allocator" },
	{ FIELD_BYTES("slot", ROW, slot), .help = "of a size class: bytes of a slot" },
	{ FIELD_FLAG("mapped", ROW, mapped),
	  .help = "of a size class: each block has a mapping of its own" },
	FIELD_LAST
};
static const struct field row_fields[] = {
	{ FIELD_TEXT("name", ROW, name), FIELD_BY_NAME,
	  .help = "the size class, type or call site" },
	{ FIELD_SAME(class_fields), .skip = is_no_class },
	{ FIELD_SAME(total_fields) },
	FIELD_LAST
};
static const struct field octave_fields[] = {
	{ FIELD_BYTES("up_to", OCTAVE, up_to), .title = "size \xe2\x89\xa4",
	  .help = "the largest requested size of the row" },
	{ FIELD_BAR("bar", OCTAVE, sums.blocks, struct sizes, total.sums.blocks) },
	{ FIELD_GROUP(OCTAVE, sums, size_sums_fields) },
	{ FIELD_COUNT("ended", OCTAVE, ages.ended), .help = "blocks that were freed" },
	{ FIELD_COUNT("persistent", OCTAVE, ages.censored), .title = "never ended",
	  .help = "blocks that were not" },
	{ FIELD_WORKED_OUT("geometric_mean_ns", TIME, get_octave_mean), .title = "lived, geo mean",
	  .help = "the geometric mean of the lifetimes of those freed" },
	{ FIELD_WORKED_OUT("p50_ns", TIME, get_p50), .title = "p50",
	  .help = "the median of their lifetimes, to within an eighth" },
	{ FIELD_WORKED_OUT("p90_ns", TIME, get_p90), .title = "p90",
	  .help = "the 90th percentile" },
	FIELD_LAST
};
#define RESULT struct sizes
#define EXTREME_COLUMNS "mean_size blocks bytes geometric_mean_ns/1 name"
const struct field sizes_fields[] = {
	{ FIELD_TIME("duration_ns", RESULT, duration), .help = "the length of the session" },
	{ FIELD_COUNT("aligned", RESULT, aligned),
	  .help = "blocks that asked for an alignment, which is not recorded" },
	{ FIELD_REAL("correlation", RESULT, correlation),
	  .help = "of the logarithms of size and lifetime, -1 to 1; null: none" },
	{ FIELD_OBJECT("total", RESULT, total, total_fields), .help = "all blocks" },
	{ FIELD_ARRAY("allocators", RESULT, allocators, named_fields), .skip = is_unused,
	  .title = "allocator", .help = "an allocator",
	  .shows = "blocks bytes usable slots/1 slop share live_slop name" },
	{ FIELD_ARRAY("sizes", RESULT, octaves, octave_fields), .skip = is_empty,
	  .help = "an octave of requested sizes",
	  .shows = "up_to blocks bar/4 bytes slop/2 live_slop/3 geometric_mean_ns p50_ns "
		   "p90_ns/1 persistent" },
	{ FIELD_FIRST("smallest", RESULT, smallest, smallest_count, named_fields), .pointers = true,
	  .title = "smallest types", .shows = EXTREME_COLUMNS,
	  .help = "a type with the smallest blocks by their mean" },
	{ FIELD_FIRST("largest", RESULT, largest, largest_count, named_fields), .pointers = true,
	  .title = "largest types", .shows = EXTREME_COLUMNS,
	  .help = "a type with the largest blocks" },
	{ FIELD_ROWS("rows", RESULT, chosen.rows, chosen.count, row_fields), .limited = true,
	  .shows = "live_slop live slop share/1 blocks bytes/2 least/5 most/5 geometric_mean_ns/3 "
		   "persistent/4 name",
	  .help = "a size class, type or call site" },
	FIELD_LAST
};
