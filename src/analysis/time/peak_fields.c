/* SPDX-License-Identifier: Apache-2.0 */
#include "../../base/mem.h"
#include "peak.h"

FIELD_GETTER(get_lasting, struct peak_row, number, r->there.bytes - r->soon_bytes)
FIELD_GETTER(get_shown, struct peak, text, r->shown ? ">" : "")
FIELD_GETTER(get_process, struct peak, owned, mem_format("%.32s %u", r->process_name, r->pid))
FIELD_GETTER_KNOWN(get_top_bytes, struct peak, number, r->rows[0].there.bytes, r->count)
FIELD_GETTER(get_top, struct peak, text, r->count ? r->rows[0].name : NULL)
FIELD_GETTER(get_by, struct peaks, text, group_names[r->groups.by])

/* clang-format off */
#define ROW struct peak_row
#define PEAK struct peak
#define RESULT struct peaks
static const struct field row_fields[] = {
	{ FIELD_TEXT("name", ROW, name), FIELD_BY_NAME,
	  .help = "the type, call site, component or tag" },
	{ FIELD_SHARE("of_bytes", ROW, there.bytes, PEAK, there.bytes) },
	{ FIELD_BAR("bar", ROW, there.bytes, PEAK, there.bytes) },
	{ FIELD_COUNT("blocks", ROW, there.blocks), .help = "its blocks" },
	{ FIELD_BYTES("bytes", ROW, there.bytes), .help = "their bytes" },
	{ FIELD_GROUP(ROW, there, estimated_fields) },
	{ FIELD_COUNT("transient_blocks", ROW, soon_blocks),
	  .help = "of these blocks, those that end within transient_ns" },
	{ FIELD_BYTES("transient_bytes", ROW, soon_bytes), .title = "transient",
	  .help = "their bytes" },
	{ FIELD_WORKED_OUT("lasting", BYTES, get_lasting), .column_only = true },
	FIELD_LAST
};
const struct field peak_fields[] = {
	{ FIELD_TIME("time_ns", PEAK, time), .title = "after", .help = "when it is reached" },
	{ FIELD_COUNT("blocks", PEAK, there.blocks), .help = "live blocks" },
	{ FIELD_BYTES("bytes", PEAK, there.bytes), .title = "live bytes", .help = "their bytes" },
	{ FIELD_GROUP(PEAK, there, estimated_fields) },
	{ FIELD_COUNT("transient_blocks", PEAK, soon_blocks),
	  .help = "of these blocks, those that end within transient_ns" },
	{ FIELD_BYTES("transient_bytes", PEAK, soon_bytes), .title = "transient",
	  .help = "their bytes" },
	{ FIELD_ROWS("rows", PEAK, rows, count, row_fields), .limited = true,
	  .help = "a type, call site, component or tag; all add up to the peak",
	  .shows = "of_bytes bar/3 bytes margin/4 blocks/2 transient_bytes lasting/1 name" },
	FIELD_LAST
};
static const struct field session_fields[] = {
	{ FIELD_WORKED_OUT("shown", TEXT, get_shown), .title = " ", .column_only = true },
	{ FIELD_COUNT("number", PEAK, number), .title = "peak", .column_only = true },
	{ FIELD_FLAG("highest", PEAK, highest), .help = "no other peak is higher" },
	{ FIELD_BAR("bar", PEAK, there.bytes, RESULT, most) },
	{ FIELD_SAME(peak_fields) },
	FIELD_LAST
};
static const struct field process_fields[] = {
	{ FIELD_WORKED_OUT("process_name", TEXT, get_process), .title = "process",
	  .tint = TINT_NAME, .column_only = true },
	{ FIELD_ID("process", PEAK, process), .help = "the number of the process" },
	{ FIELD_ID("pid", PEAK, pid), .help = "its pid" },
	{ FIELD_TEXT("name", PEAK, process_name), .help = "its role, or its program" },
	{ FIELD_SAME(peak_fields) },
	{ FIELD_WORKED_OUT("top_bytes", BYTES, get_top_bytes), .title = "of that",
	  .column_only = true },
	{ FIELD_WORKED_OUT("top", TEXT, get_top), FIELD_BY_NAME, .column_only = true },
	FIELD_LAST
};
const struct field peaks_fields[] = {
	{ FIELD_TIME("duration_ns", RESULT, duration), .help = "the length of the session" },
	{ FIELD_TIME("transient_ns", RESULT, soon),
	  .help = "a block that ends sooner after a peak is transient" },
	{ FIELD_WORKED_OUT("by", TEXT, get_by), .help = "type, site, component or tag" },
	{ FIELD_ROWS("peaks", RESULT, peaks, count, session_fields), .spread = true,
	  .help = "a peak of all processes together, in the order of time",
	  .shows = "shown number time_ns bytes margin/1 bar blocks transient_bytes" },
	{ FIELD_ROWS("processes", RESULT, processes, process_count, process_fields), .spread = true,
	  .help = "a process at its highest peak" },
	{ FIELD_ROWS("processes_shown", RESULT, processes, process_count, process_fields),
	  .limited = true, .column_only = true,
	  .shows = "process_name time_ns bytes blocks/1 transient_bytes top_bytes top" },
	FIELD_LAST
};
