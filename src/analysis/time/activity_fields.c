/* SPDX-License-Identifier: Apache-2.0 */
#include "activity.h"

static struct shiny_err *put_series(const void *row, struct json *json, const char *key,
				    void *context)
{
	const struct activity_series *s = row;

	(void)context;
	json_object(json, key);
	json_number(json, "first", s->first);
	for (const struct field *f = activity_point_fields; f->kind != FIELD_KIND_END; f++) {
		bool absent = f->get != NULL;

		for (size_t i = 0; i < s->count && absent; i++)
			absent = field_value(f, &s->points[i]).absent;
		if (absent)
			continue;
		json_array_line(json, f->key);
		for (size_t i = 0; i < s->count; i++)
			json_number(json, NULL, field_value(f, &s->points[i]).number);
		json_end(json);
	}
	json_end(json);
	return NULL;
}

FIELD_GETTER(get_kind, struct phase, text, phase_kind_names[r->kind])
FIELD_GETTER(get_length, struct phase, number, r->end - r->begin)
FIELD_GETTER(get_alloc_rate, struct phase, number,
	     activity_per_second(r->began.blocks, r->end - r->begin))
FIELD_GETTER(get_free_rate, struct phase, number,
	     activity_per_second(r->ended.blocks, r->end - r->begin))
FIELD_SKIP(is_empty, struct phase_row, !r->name)

/* clang-format off */
/* Defines the fields of the interval's ends of a struct estimated: of both its sums. */
#define BOUNDS(name, blocks, bytes)                                \
	static const struct field name##_bounds[] = {              \
		ESTIMATED_BOUNDS(blocks, COUNT, estimated_blocks), \
		ESTIMATED_BOUNDS(bytes, BYTES, estimated_bytes),   \
		FIELD_LAST                                         \
	};
BOUNDS(peak, "peak_blocks", "peak_bytes")
BOUNDS(begin, "begin_blocks", "begin_bytes")
BOUNDS(end, "end_blocks", "end_bytes")
BOUNDS(allocs, "allocs", "alloc_bytes")
BOUNDS(frees, "frees", "free_bytes")
BOUNDS(kept, "kept_blocks", "kept_bytes")
BOUNDS(ended, "ended_blocks", "ended_bytes")
static const struct field most_bytes_bounds[] = {
	ESTIMATED_BOUNDS("most_bytes", BYTES, estimated_bytes), FIELD_LAST
};

#define POINT struct activity_point
#define POINT_BOUND(name, member, part, end)                                       \
	static void get_##name##_##end(const void *point, struct field_value *out) \
	{                                                                          \
		estimated_##part##_##end(&((const POINT *)point)->member, out);    \
	}
#define POINT_BOUNDS(name, member, part) \
	POINT_BOUND(name, member, part, low) POINT_BOUND(name, member, part, high)
POINT_BOUNDS(live_bytes, live, bytes)
POINT_BOUNDS(live_blocks, live, blocks)
POINT_BOUNDS(allocs, began, blocks)
POINT_BOUNDS(alloc_bytes, began, bytes)
POINT_BOUNDS(frees, ended, blocks)
POINT_BOUNDS(free_bytes, ended, bytes)
POINT_BOUNDS(most_bytes, most, bytes)
POINT_BOUNDS(most_blocks, most, blocks)
const struct field activity_point_fields[] = {
	{ FIELD_BYTES("live_bytes", POINT, live.bytes),
	  .help = "bytes live at the end of the interval" },
	{ FIELD_COUNT("live_blocks", POINT, live.blocks), .help = "blocks live at its end" },
	{ FIELD_COUNT("live_types", POINT, types), .help = "different types of those" },
	{ FIELD_COUNT("live_pages", POINT, pages), .help = "pages of 4 KiB with a live byte" },
	{ FIELD_COUNT("live_lines", POINT, lines), .help = "cache lines with a live byte" },
	{ FIELD_COUNT("allocs", POINT, began.blocks), .help = "allocations in the interval" },
	{ FIELD_BYTES("alloc_bytes", POINT, began.bytes), .help = "their bytes" },
	{ FIELD_COUNT("frees", POINT, ended.blocks), .help = "frees in the interval" },
	{ FIELD_BYTES("free_bytes", POINT, ended.bytes), .help = "their bytes" },
	{ FIELD_BYTES("most_bytes", POINT, most.bytes), .help = "most bytes live in the interval" },
	{ FIELD_COUNT("most_blocks", POINT, most.blocks),
	  .help = "most blocks live in the interval" },
	ESTIMATED_BOUNDS("live_bytes", BYTES, get_live_bytes),
	ESTIMATED_BOUNDS("live_blocks", COUNT, get_live_blocks),
	ESTIMATED_BOUNDS("allocs", COUNT, get_allocs),
	ESTIMATED_BOUNDS("alloc_bytes", BYTES, get_alloc_bytes),
	ESTIMATED_BOUNDS("frees", COUNT, get_frees),
	ESTIMATED_BOUNDS("free_bytes", BYTES, get_free_bytes),
	ESTIMATED_BOUNDS("most_bytes", BYTES, get_most_bytes),
	ESTIMATED_BOUNDS("most_blocks", COUNT, get_most_blocks),
	FIELD_LAST
};

#define SERIES struct activity_series
static const struct field series_fields[] = {
	{ FIELD_TIME("start_ns", SERIES, start), .help = "the start of the process, or session" },
	{ FIELD_TIME("end_ns", SERIES, end), .help = "its end" },
	{ FIELD_BYTES("peak_bytes", SERIES, peak.bytes), .help = "bytes live at the peak" },
	{ FIELD_COUNT("peak_blocks", SERIES, peak.blocks),
	  .help = "blocks live at the peak of bytes" },
	{ FIELD_TIME("peak_ns", SERIES, peak_time), .help = "the moment with most live bytes" },
	{ FIELD_COUNT("allocs", SERIES, began.blocks), .help = "allocations" },
	{ FIELD_BYTES("alloc_bytes", SERIES, began.bytes), .help = "their bytes" },
	{ FIELD_COUNT("frees", SERIES, ended.blocks), .help = "frees" },
	{ FIELD_BYTES("free_bytes", SERIES, ended.bytes), .help = "their bytes" },
	{ FIELD_GROUP(SERIES, peak, peak_bounds) },
	{ FIELD_GROUP(SERIES, began, allocs_bounds) },
	{ FIELD_GROUP(SERIES, ended, frees_bounds) },
	{ .key = "series", .kind = FIELD_KIND_PUT, .put = put_series,
	  .help = "first (interval), and a number for each interval from it on: live_bytes, "
		  "live_blocks, live_types, live_pages, live_lines (at its end), allocs, "
		  "alloc_bytes, frees, free_bytes, most_bytes and most_blocks (in it); of a "
		  "sample also the ends of their 95 % intervals: live_bytes_low, "
		  "live_bytes_high, and so on" },
	FIELD_LAST
};
static const struct field process_fields[] = {
	{ FIELD_ID("process", SERIES, process), .help = "the number of the process" },
	{ FIELD_ID("pid", SERIES, pid), .help = "its pid" },
	{ FIELD_TEXT("name", SERIES, name), .help = "its role, or its program" },
	{ FIELD_SAME(series_fields) },
	FIELD_LAST
};

#define ROW struct phase_row
static const struct field row_fields[] = {
	{ FIELD_TEXT("name", ROW, name), .help = "the type, or the call site" },
	{ FIELD_COUNT("blocks", ROW, began.blocks), .help = "blocks that began in the phase" },
	{ FIELD_BYTES("bytes", ROW, began.bytes), .help = "their bytes" },
	{ FIELD_COUNT("kept_blocks", ROW, kept.blocks), .help = "of these, live at its end" },
	{ FIELD_BYTES("kept_bytes", ROW, kept.bytes), .help = "their bytes" },
	{ FIELD_COUNT("ended_blocks", ROW, ended.blocks),
	  .help = "blocks that ended in the phase and began before" },
	{ FIELD_BYTES("ended_bytes", ROW, ended.bytes), .help = "their bytes" },
	{ FIELD_GROUP(ROW, began, estimated_fields) },
	{ FIELD_GROUP(ROW, kept, kept_bounds) },
	{ FIELD_GROUP(ROW, ended, ended_bounds) },
	FIELD_LAST
};
#define PHASE struct phase
static const struct field phase_fields[] = {
	{ FIELD_COUNT("number", PHASE, number), .title = "", .column_only = true },
	{ FIELD_WORKED_OUT("kind", TEXT, get_kind), .title = "phase", .tint = TINT_BOLD,
	  .help = "rise, steady, fall or spike" },
	{ FIELD_ID("first", PHASE, first), .help = "the first interval of the phase" },
	{ FIELD_ID("last", PHASE, last), .help = "the last interval of the phase" },
	{ FIELD_TIME("begin_ns", PHASE, begin), .title = "from", .help = "when it begins" },
	{ FIELD_TIME("end_ns", PHASE, end), .help = "when it ends" },
	{ FIELD_WORKED_OUT("length", TIME, get_length), .title = "for", .column_only = true },
	{ FIELD_COUNT("begin_blocks", PHASE, at_begin.blocks), .help = "blocks live at its begin" },
	{ FIELD_BYTES("begin_bytes", PHASE, at_begin.bytes), .title = "live bytes",
	  .help = "their bytes" },
	{ FIELD_COUNT("end_blocks", PHASE, at_end.blocks), .help = "blocks live at its end" },
	{ FIELD_BYTES("end_bytes", PHASE, at_end.bytes), .title = "then", .help = "their bytes" },
	{ FIELD_GROUP(PHASE, at_end, estimated_margin_fields) },
	{ FIELD_BYTES("most_bytes", PHASE, most.bytes), .title = "at most",
	  .help = "most bytes live in the phase" },
	{ FIELD_COUNT("allocs", PHASE, began.blocks), .help = "allocations in the phase" },
	{ FIELD_BYTES("alloc_bytes", PHASE, began.bytes), .help = "their bytes" },
	{ FIELD_COUNT("frees", PHASE, ended.blocks), .help = "frees in the phase" },
	{ FIELD_BYTES("free_bytes", PHASE, ended.bytes), .help = "their bytes" },
	{ FIELD_GROUP(PHASE, at_begin, begin_bounds) },
	{ FIELD_GROUP(PHASE, at_end, end_bounds) },
	{ FIELD_GROUP(PHASE, most, most_bytes_bounds) },
	{ FIELD_GROUP(PHASE, began, allocs_bounds) },
	{ FIELD_GROUP(PHASE, ended, frees_bounds) },
	{ FIELD_WORKED_OUT("alloc_rate", COUNT, get_alloc_rate), .title = "allocs/s",
	  .column_only = true },
	{ FIELD_WORKED_OUT("free_rate", COUNT, get_free_rate), .title = "frees/s",
	  .column_only = true },
	{ FIELD_ARRAY("types", PHASE, types, row_fields), .skip = is_empty,
	  .help = "a type with most bytes that the phase kept, lost or began" },
	{ FIELD_ARRAY("sites", PHASE, sites, row_fields), .skip = is_empty,
	  .help = "a call site with most bytes that the phase kept, lost or began" },
	FIELD_LAST
};
#define RESULT struct activity
const struct field activity_fields[] = {
	{ FIELD_TIME("duration_ns", RESULT, duration), .help = "the length of the session" },
	{ FIELD_TIME("interval_ns", RESULT, interval), .help = "the length of an interval" },
	{ FIELD_COUNT("intervals", RESULT, count), .help = "the number of intervals" },
	{ FIELD_OBJECT("total", RESULT, total, series_fields), .spread = true,
	  .help = "all processes together" },
	{ FIELD_ROWS("phases", RESULT, phases, phase_count, phase_fields), .spread = true,
	  .help = "a phase of the heap",
	  .shows = "number kind begin_ns length begin_bytes end_bytes margin/3 most_bytes "
		   "alloc_rate/1 free_rate/2" },
	{ FIELD_ROWS("processes", RESULT, processes, process_count, process_fields), .spread = true,
	  .help = "a process" },
	FIELD_LAST
};
