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
	     activity_per_second(r->allocs, r->end - r->begin))
FIELD_GETTER(get_free_rate, struct phase, number, activity_per_second(r->frees, r->end - r->begin))
FIELD_SKIP(is_empty, struct phase_row, !r->name)

/* clang-format off */
#define POINT struct activity_point
const struct field activity_point_fields[] = {
	{ FIELD_BYTES("live_bytes", POINT, bytes),
	  .help = "bytes live at the end of the interval" },
	{ FIELD_COUNT("live_blocks", POINT, blocks), .help = "blocks live at its end" },
	{ FIELD_COUNT("live_types", POINT, types), .help = "different types of those" },
	{ FIELD_COUNT("live_pages", POINT, pages), .help = "pages of 4 KiB with a live byte" },
	{ FIELD_COUNT("live_lines", POINT, lines), .help = "cache lines with a live byte" },
	{ FIELD_COUNT("allocs", POINT, allocs), .help = "allocations in the interval" },
	{ FIELD_BYTES("alloc_bytes", POINT, alloc_bytes), .help = "their bytes" },
	{ FIELD_COUNT("frees", POINT, frees), .help = "frees in the interval" },
	{ FIELD_BYTES("free_bytes", POINT, free_bytes), .help = "their bytes" },
	{ FIELD_BYTES("most_bytes", POINT, most_bytes), .help = "most bytes live in the interval" },
	{ FIELD_COUNT("most_blocks", POINT, most_blocks),
	  .help = "most blocks live in the interval" },
	FIELD_LAST
};

#define SERIES struct activity_series
static const struct field series_fields[] = {
	{ FIELD_TIME("start_ns", SERIES, start), .help = "the start of the process, or session" },
	{ FIELD_TIME("end_ns", SERIES, end), .help = "its end" },
	{ FIELD_BYTES("peak_bytes", SERIES, peak_bytes), .help = "bytes live at the peak" },
	{ FIELD_COUNT("peak_blocks", SERIES, peak_blocks),
	  .help = "blocks live at the peak of bytes" },
	{ FIELD_TIME("peak_ns", SERIES, peak_time), .help = "the moment with most live bytes" },
	{ FIELD_COUNT("allocs", SERIES, allocs), .help = "allocations" },
	{ FIELD_BYTES("alloc_bytes", SERIES, alloc_bytes), .help = "their bytes" },
	{ FIELD_COUNT("frees", SERIES, frees), .help = "frees" },
	{ FIELD_BYTES("free_bytes", SERIES, free_bytes), .help = "their bytes" },
	{ .key = "series", .kind = FIELD_KIND_PUT, .put = put_series,
	  .help = "first (interval), and a number for each interval from it on: live_bytes, "
		  "live_blocks, live_types, live_pages, live_lines (at its end), allocs, "
		  "alloc_bytes, frees, free_bytes, most_bytes and most_blocks (in it)" },
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
	{ FIELD_COUNT("blocks", ROW, blocks), .help = "blocks that began in the phase" },
	{ FIELD_BYTES("bytes", ROW, bytes), .help = "their bytes" },
	{ FIELD_COUNT("kept_blocks", ROW, kept_blocks), .help = "of these, live at its end" },
	{ FIELD_BYTES("kept_bytes", ROW, kept_bytes), .help = "their bytes" },
	{ FIELD_COUNT("ended_blocks", ROW, ended_blocks),
	  .help = "blocks that ended in the phase and began before" },
	{ FIELD_BYTES("ended_bytes", ROW, ended_bytes), .help = "their bytes" },
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
	{ FIELD_COUNT("begin_blocks", PHASE, begin_blocks), .help = "blocks live at its begin" },
	{ FIELD_BYTES("begin_bytes", PHASE, begin_bytes), .title = "live bytes",
	  .help = "their bytes" },
	{ FIELD_COUNT("end_blocks", PHASE, end_blocks), .help = "blocks live at its end" },
	{ FIELD_BYTES("end_bytes", PHASE, end_bytes), .title = "then", .help = "their bytes" },
	{ FIELD_BYTES("most_bytes", PHASE, most_bytes), .title = "at most",
	  .help = "most bytes live in the phase" },
	{ FIELD_COUNT("allocs", PHASE, allocs), .help = "allocations in the phase" },
	{ FIELD_BYTES("alloc_bytes", PHASE, alloc_bytes), .help = "their bytes" },
	{ FIELD_COUNT("frees", PHASE, frees), .help = "frees in the phase" },
	{ FIELD_BYTES("free_bytes", PHASE, free_bytes), .help = "their bytes" },
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
	  .shows = "number kind begin_ns length begin_bytes end_bytes most_bytes alloc_rate/1 "
		   "free_rate/2" },
	{ FIELD_ROWS("processes", RESULT, processes, process_count, process_fields), .spread = true,
	  .help = "a process" },
	FIELD_LAST
};
