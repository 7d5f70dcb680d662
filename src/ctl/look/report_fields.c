/* SPDX-License-Identifier: Apache-2.0 */
/* report_fields.c: describes the front page of a session. */
#include "report_page.h"

FIELD_GETTER(get_name, struct hotspot_row, owned, report_type(r, false))
FIELD_GETTER(get_full_name, struct hotspot_row, owned, report_type(r, true))
FIELD_GETTER(get_site, struct hotspot_row, owned, report_site(r, false))
FIELD_GETTER(get_full_site, struct hotspot_row, owned, report_site(r, true))
FIELD_GETTER(get_rate, struct report_page, real, report_rate(r))
FIELD_SKIP(is_narrow, struct report_page, r->narrow)
FIELD_SKIP(is_partial, struct report_page, r->partial)
FIELD_SKIP(is_idle, struct report_owner, !r->bytes && !r->at_peak_bytes)
FIELD_SKIP(is_well, struct finding, r->state == FINDING_OK)

/* clang-format off */
#define PAGE struct report_page
#define HOT struct hotspot_row
#define ROLE struct hotspot_role
static const struct field headline_fields[] = {
	{ FIELD_TEXT("kind", struct headline, kind),
	  .help = "kept, sample, crashed, killed, not_finished, frees, not_recorded or narrowed" },
	{ FIELD_TEXT("text", struct headline, text), .help = "the fact" },
	{ FIELD_TEXT("verb", struct headline, verb), .help = "which says more; null: none" },
	FIELD_LAST
};
static const struct field totals_fields[] = {
	{ FIELD_COUNT("processes", PAGE, totals.processes), .help = "processes" },
	{ FIELD_COUNT("threads", PAGE, totals.threads), .help = "threads" },
	{ FIELD_COUNT("events", PAGE, totals.events), .skip = is_narrow,
	  .help = "events; null: with a filter" },
	{ FIELD_GROUP(PAGE, totals.sums, sums_fields) },
	{ FIELD_COUNT("typed_allocs", PAGE, totals.typed_allocs),
	  .help = "allocations with a type" },
	{ FIELD_COUNT("types", PAGE, totals.types), .help = "types" },
	{ FIELD_COUNT("labels", PAGE, totals.labels),
	  .help = "descriptions of blocks without a type" },
	{ FIELD_COUNT("vtables", PAGE, totals.vtables), .help = "vtables" },
	{ FIELD_COUNT("sites", PAGE, totals.sites), .help = "call sites" },
	{ FIELD_COUNT("stacks", PAGE, totals.stacks), .skip = is_narrow,
	  .help = "stacks; null: with a filter" },
	{ FIELD_BYTES("peak_bytes", PAGE, totals.peak_bytes), .skip = is_partial,
	  .help = "the most bytes live at once; null: with a filter, without events" },
	{ FIELD_TIME("peak_time_ns", PAGE, totals.peak_at), .skip = is_partial,
	  .help = "when that was" },
	{ FIELD_TIME("at_peak_ns", PAGE, totals.at_peak_ns),
	  .help = "the moment of at_peak and at_peak_bytes: when running processes held most" },
	{ FIELD_WORKED_OUT("allocs_per_second", REAL, get_rate), .help = "allocations a second" },
	FIELD_LAST
};
static const struct field component_fields[] = {
	{ FIELD_TEXT("name", struct report_owner, name), .help = "its name" },
	{ FIELD_BYTES("live_bytes", struct report_owner, bytes), .help = "its live bytes" },
	{ FIELD_BYTES("at_peak_bytes", struct report_owner, at_peak_bytes),
	  .help = "its bytes that were live at the session's peak" },
	FIELD_LAST
};
static const struct field hot_fields[] = {
	{ FIELD_WORKED_OUT("name", TEXT, get_name), .help = "the type, as in types" },
	{ FIELD_WORKED_OUT("full_name", TEXT, get_full_name), .help = "the same, not shortened" },
	{ FIELD_TEXT("type", HOT, type), .help = "the type in full; null: unknown" },
	{ FIELD_WORKED_OUT("site", TEXT, get_site), .help = "the call site" },
	{ FIELD_WORKED_OUT("full_site", TEXT, get_full_site), .help = "the same, not shortened" },
	{ FIELD_COUNT("blocks", HOT, held.blocks),
	  .help = "its blocks: those at the peak, live, short-lived or retained" },
	{ FIELD_BYTES("bytes", HOT, held.bytes), .help = "their bytes" },
	{ FIELD_GROUP(HOT, held, estimated_fields) },
	{ FIELD_COUNT("allocs", HOT, allocs), .help = "all its blocks" },
	{ FIELD_COUNT("ended", HOT, ended), .help = "those that ended" },
	{ FIELD_TIME("median_lifetime_ns", HOT, median_ns), .optional = true,
	  .help = "of the short-lived: half of them lived at most that long" },
	FIELD_LAST
};
#define HOTSPOTS(name, member, text) \
	{ FIELD_ROWS(name, PAGE, hotspots.member.rows, hotspots.member.count, hot_fields), \
	  .limited = true, .help = "blocks of one type from one call site that " text }
static const struct field role_fields[] = {
	{ FIELD_TEXT("name", ROLE, name), .help = "the role, or the name of the program" },
	{ FIELD_COUNT("processes", ROLE, processes), .help = "its processes" },
	{ FIELD_COUNT("allocs", ROLE, allocs), .help = "their allocations" },
	{ FIELD_COUNT("live", ROLE, blocks), .help = "their live blocks" },
	{ FIELD_BYTES("live_bytes", ROLE, bytes), .help = "their live bytes" },
	{ FIELD_BYTES("peak_bytes", ROLE, peak_bytes),
	  .help = "the highest peak of one of them" },
	{ FIELD_BYTES("at_peak_bytes", ROLE, at_peak_bytes),
	  .help = "their bytes that were live at the session's peak" },
	FIELD_LAST
};
static const struct field short_lived_fields[] = {
	{ FIELD_TIME("within_ns", PAGE, hotspots.short_lived_ns), .help = "they lived less long" },
	{ FIELD_COUNT("blocks", PAGE, hotspots.short_lived_blocks), .help = "their number" },
	{ FIELD_BYTES("bytes", PAGE, hotspots.short_lived_bytes), .help = "their bytes" },
	{ FIELD_COUNT("of", PAGE, hotspots.blocks), .help = "the number of all blocks" },
	FIELD_LAST
};
static const struct field page_fields[] = {
	{ FIELD_COUNT("pages", PAGE, hotspots.pages), .help = "their number" },
	{ FIELD_BYTES("live_bytes", PAGE, hotspots.pages_bytes), .help = "the live bytes there" },
	FIELD_LAST
};
static const struct field timed_fields[] = {
	{ FIELD_ROWS("roles", PAGE, hotspots.roles.rows, hotspots.roles.count, role_fields),
	  .help = "a role, most live bytes first; this, and what follows up to `pages`, is null "
		  "with a filter, without events" },
	{ FIELD_NUMBERS("live_bytes_over_time", PAGE, totals.times),
	  .help = "the highest live bytes in each fortieth of the session" },
	{ FIELD_SAME_OBJECT("short_lived_total", short_lived_fields),
	  .help = "all short-lived blocks" },
	HOTSPOTS("short_lived", short_lived, "died young"),
	HOTSPOTS("retained", retained, "were allocated late and are live at the end"),
	{ FIELD_SAME_OBJECT("pages", page_fields),
	  .help = "pages of 4 KiB with live blocks at the end" },
	FIELD_LAST
};
static const struct field hint_fields[] = {
	{ FIELD_TEXT("verb", struct report_hint, command), .help = "the verb, with its options" },
	{ FIELD_TEXT("text", struct report_hint, text), .help = "why" },
	FIELD_LAST
};
static const struct field unseen_fields[] = {
	{ FIELD_TEXT("name", struct finding, name), .help = "the subject, as in doctor" },
	{ FIELD_TEXT("text", struct finding, text), .help = "what was not seen" },
	{ FIELD_TEXT("advice", struct finding, advice), .help = "the remedy; null: none" },
	FIELD_LAST
};
static const struct field tree_fields[] = {
	{ FIELD_ROWS("processes", PAGE, processes.rows, processes.count, process_row_fields),
	  .help = "a process, as in info --processes; its events, threads and lost are of the "
		  "whole session; null: with a filter, without events" },
	FIELD_LAST
};
const struct field report_fields[] = {
	{ FIELD_TEXT("file", PAGE, file), .help = "the session, as given" },
	{ FIELD_TEXT("program", PAGE, totals.program), .help = "the program; empty: unknown" },
	{ FIELD_TEXT("command", PAGE, totals.command), .help = "its command line" },
	{ FIELD_ID("started_ns", PAGE, totals.started),
	  .help = "when it started, in ns since 1970; 0: unknown" },
	{ FIELD_TIME("duration_ns", PAGE, totals.duration), .help = "how long the session is" },
	{ FIELD_ID("schema_version", PAGE, totals.schema_version),
	  .help = "the version of its tables" },
	{ FIELD_ROWS("headlines", PAGE, headlines.rows, headlines.count, headline_fields),
	  .help = "a fact to know before the numbers, worst first" },
	{ FIELD_TEXT("tag", PAGE, tag), .help = "the value of --tag; null: none" },
	{ FIELD_TEXT("between", PAGE, between), .help = "the value of --between; null: none" },
	{ FIELD_TIME("from_ns", PAGE, from), .help = "the part that the report describes: from" },
	{ FIELD_TIME("length_ns", PAGE, length), .help = "its length" },
	{ FIELD_SAME_OBJECT("totals", totals_fields), .spread = true, .help = "the sums" },
	{ FIELD_ROWS("components", PAGE, owners, names.count, component_fields), .skip = is_idle,
	  .help = "a component with live bytes, or some at the peak; most first, at the peak if "
		  "that is 1.2 times what is live at the end" },
	HOTSPOTS("at_peak", at_peak, "were live at the session's peak"),
	HOTSPOTS("live", live, "are live at the end"),
	{ FIELD_SAME(timed_fields), .skip = is_partial, .nulls = true },
	{ FIELD_FIRST("next", PAGE, hints, hint_count, hint_fields), .help = "where to look" },
	{ FIELD_GROUP(PAGE, keepers, keepers_fields) },
	{ FIELD_FIRST("resident", PAGE, resident.rows, resident.count, resident_fields),
	  .help = "a large process at its sample with most resident bytes" },
	{ FIELD_ROWS("not_seen", PAGE, coverage.rows, coverage.count, unseen_fields),
	  .skip = is_well, .help = "what the recording could not see" },
	{ FIELD_SAME(tree_fields), .skip = is_partial, .nulls = true },
	{ FIELD_ARRAY("confidence", PAGE, types.levels, type_level_fields),
	  .help = "a level of confidence, as in types" },
	{ FIELD_ROWS("types", PAGE, types.rows, types.count, type_row_fields), .limited = true,
	  .help = "a type, as in types" },
	{ FIELD_ROWS("sites", PAGE, sites.rows, sites.count, site_row_fields), .limited = true,
	  .help = "a call site, as in sites; with --between without its peak" },
	FIELD_LAST
};
