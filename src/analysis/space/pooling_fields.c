/* SPDX-License-Identifier: Apache-2.0 */
#include "../../base/mem.h"
#include "../../base/units.h"
#include "pooling.h"

static void get_saved(const void *row, struct field_value *out)
{
	out->stored = STORED_I64;
	out->change = pooling_saved(row);
}

static void get_saved_text(const void *row, struct field_value *out)
{
	int64_t saved = pooling_saved(row);

	field_set_owned(out, mem_format("%s%s", saved < 0 ? "-" : "",
					units_count(UNITS_BUF,
						    (uint64_t)(saved < 0 ? -saved : saved))));
}

static void get_used_pages(const void *row, struct field_value *out)
{
	const struct pooling_row *r = row;

	field_set_number(out, r->used_pages);
	out->absent = !r->used_pages;
}

static void set_reclaimable(const struct pooling_row *r, const struct pooling_side *side,
			    struct field_value *out)
{
	field_set_number(out, pooling_reclaimable(r, side));
	out->absent = !r->used_pages;
}

static void get_reclaimable_without(const void *row, struct field_value *out)
{
	set_reclaimable(row, &((const struct pooling_row *)row)->without, out);
}

static void get_reclaimable_with(const void *row, struct field_value *out)
{
	set_reclaimable(row, &((const struct pooling_row *)row)->with, out);
}

/* Sets the largest size of the bucket; null: it has none. */
static void get_up_to(const void *row, struct field_value *out)
{
	uint64_t up_to = pages_bucket_up_to[((const struct pooling_row *)row)->bucket];

	if (up_to != UINT64_MAX)
		field_set_number(out, up_to);
}

static void get_pool(const void *row, struct field_value *out)
{
	const struct pooling_row *r = row;
	const char *bucket = pages_bucket_names[r->bucket];

	if (r->lifetime)
		field_set_owned(out, mem_format("  %s, %s", bucket, r->lifetime));
	else
		field_set_text(out, bucket);
}

FIELD_SKIPPER(is_empty, struct pooling_row, !r->blocks)

/* clang-format off */
#define CONSTANT(name, text) \
	{ FIELD_COUNT(#name, struct pooling_constants, name), .help = text }
static const struct field constant_fields[] = {
	CONSTANT(alloc, "cycles of an allocation"),
	CONSTANT(free, "cycles of a deallocation"),
	CONSTANT(slow, "cycles of a call that enters the system"),
	CONSTANT(ctor, "cycles of a constructor"),
	CONSTANT(dtor, "cycles of a destructor"),
	CONSTANT(reuse, "cycles of a call of a pool"),
	CONSTANT(chunk, "bytes that a pool takes at once"),
	FIELD_LAST
};

#define ROW struct pooling_row
#define SIDE(row, side, a_call, a_cycle, at_peak, at_end) \
	{ FIELD_COUNT("calls", row, side.calls), .title = a_call, \
	  .help = "calls of the allocator" }, \
	{ FIELD_COUNT("slow", row, side.slow), .help = "of these, those that enter the system" }, \
	{ FIELD_COUNT("cycles", row, side.cycles), .title = a_cycle, \
	  .help = "cycles of the calls and the pools" }, \
	{ FIELD_COUNT("peak_pages", row, side.peak_pages), .title = at_peak, \
	  .help = "pages at the moment with most live bytes" }, \
	{ FIELD_COUNT("end_pages", row, side.end_pages), .title = at_end, \
	  .help = "pages at the end" }
#define RECLAIMABLE(function) \
	{ FIELD_WORKED_OUT("reclaimable_pages", COUNT, function), \
	  .help = "pages on which a block ever lay and none does at the end; not of types" }
static const struct field without_fields[] = {
	SIDE(ROW, without, "calls", "cycles", "pages at peak", "at end"),
	RECLAIMABLE(get_reclaimable_without),
	FIELD_LAST
};
static const struct field with_fields[] = {
	SIDE(ROW, with, "pooled", "pooled", "pooled", "pooled"),
	RECLAIMABLE(get_reclaimable_with),
	FIELD_LAST
};
static const struct field row_fields[] = {
	{ FIELD_COUNT("blocks", ROW, blocks), .help = "blocks allocated" },
	{ FIELD_BYTES("bytes", ROW, bytes), .help = "their requested bytes" },
	{ FIELD_COUNT("most", ROW, most), .title = "most at once",
	  .help = "slots of the pools in use at once, at most" },
	{ FIELD_COUNT("pools", ROW, pools), .help = "pools for the blocks" },
	{ FIELD_COUNT("objects", ROW, objects), .help = "blocks that are objects" },
	{ FIELD_COUNT("destroyed", ROW, destroyed), .help = "objects that were destroyed" },
	{ FIELD_COUNT("deferred", ROW, deferred),
	  .help = "destructors that run if destruction is deferred" },
	{ FIELD_WORKED_OUT("used_pages", COUNT, get_used_pages),
	  .help = "pages on which a block ever lay; not of types" },
	{ FIELD_WORKED_OUT("saved", COUNT_CHANGE, get_saved), .help = "cycles that pools save" },
	{ FIELD_WORKED_OUT("cycles_saved", TEXT, get_saved_text), .column_only = true },
	{ .key = "without", .kind = FIELD_KIND_OBJECT, .fields = without_fields, .spread = true,
	  .help = "as it was, without pools" },
	{ .key = "with", .kind = FIELD_KIND_OBJECT, .fields = with_fields, .spread = true,
	  .help = "with pools" },
	FIELD_LAST
};
static const struct field pool_lifetime_fields[] = {
	{ FIELD_TEXT("lifetime", ROW, lifetime),
	  .help = "short, middle or tail: the lifetime of most blocks of the call site" },
	{ FIELD_WORKED_OUT("pool", TEXT, get_pool), .title = "size and lifetime",
	  .column_only = true, .tint = TINT_NAME },
	{ FIELD_SAME(row_fields) },
	FIELD_LAST
};
#define BUCKET struct pooling_bucket
static const struct field bucket_fields[] = {
	{ FIELD_WORKED_OUT("up_to", BYTES, get_up_to),
	  .help = "the largest requested size of the bucket; null: no limit" },
	{ FIELD_GROUP(BUCKET, all, row_fields) },
	{ FIELD_ARRAY("lifetimes", BUCKET, lifetimes, pool_lifetime_fields), .spread = true,
	  .help = "a lifetime of blocks of this size" },
	FIELD_LAST
};
static const struct field type_fields[] = {
	{ FIELD_TEXT("type", ROW, name), FIELD_NAME, .title = "a pool of each type's own",
	  .help = "the type" },
	{ FIELD_SAME(row_fields) },
	FIELD_LAST
};

#define WAY struct pooling_way
#define RESULT struct pooling
static const struct field way_fields[] = {
	{ FIELD_TEXT("text", WAY, text), .title = "", .tint = TINT_BOLD },
	SIDE(WAY, side, "calls", "", "pages at peak", "at end"),
	{ FIELD_COUNT("destructors", WAY, destructors) },
	{ FIELD_COUNT("all_cycles", WAY, cycles), .title = "cycles" },
	{ FIELD_SHARE("share", WAY, cycles, RESULT, ways[POOLING_AS_WAS].cycles), .title = "" },
	{ FIELD_COUNT("reclaimable", WAY, reclaimable) },
	FIELD_LAST
};
static const struct field cycle_fields[] = {
	{ FIELD_COUNT("without", RESULT, ways[POOLING_AS_WAS].cycles),
	  .help = "cycles of all blocks, constructors and destructors without pools" },
	{ FIELD_COUNT("with", RESULT, ways[POOLING_POOLS].cycles), .help = "the same with pools" },
	{ FIELD_COUNT("deferred", RESULT, ways[POOLING_DEFERRED].cycles),
	  .help = "the same with pools and deferred destructors" },
	FIELD_LAST
};
#define SHOWS \
	"cycles_saved blocks/5 most/4 without.calls with.calls without.cycles/3 with.cycles/3 " \
	"without.peak_pages with.peak_pages without.end_pages/2 with.end_pages/2 "
const struct field pooling_fields[] = {
	{ FIELD_OBJECT("constants", RESULT, constants, constant_fields),
	  .help = "the costs that the model uses" },
	{ FIELD_TIME("duration_ns", RESULT, duration), .help = "the length of the session" },
	{ FIELD_TIME("peak_ns", RESULT, peak_time), .help = "the moment with most live bytes" },
	{ FIELD_COUNT("collected", RESULT, collected),
	  .help = "garbage-collected objects, which are left out" },
	{ .key = "cycles", .kind = FIELD_KIND_OBJECT, .fields = cycle_fields,
	  .help = "cycles of the whole program" },
	{ FIELD_OBJECT("total", RESULT, total, row_fields), .help = "all blocks" },
	{ FIELD_ARRAY("ways", RESULT, ways, way_fields), .column_only = true,
	  .shows = "text calls slow/2 destructors/3 all_cycles share peak_pages end_pages "
		   "reclaimable/1" },
	{ FIELD_ARRAY("sizes", RESULT, sizes, bucket_fields), .help = "a bucket of sizes" },
	/* each bucket's sum is before its lifetimes */
	{ .key = "pools", .kind = FIELD_KIND_ROWS, .offset = offsetof(RESULT, sizes),
	  .size = sizeof(ROW), .count = PAGES_BUCKETS * (1 + POPULATIONS), .inside = true,
	  .fields = pool_lifetime_fields, .column_only = true, .skip = is_empty,
	  .shows = SHOWS "pool" },
	{ FIELD_ROWS("rows", RESULT, types, type_count, type_fields), .limited = true,
	  .shows = SHOWS "type", .help = "a type, with pools of its own" },
	FIELD_LAST
};
