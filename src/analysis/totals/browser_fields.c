/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../../base/mem.h"
#include "browser.h"

FIELD_SKIPPER(is_not_theirs, struct browser_row, !r->is_theirs)
FIELD_SKIPPER(is_not_ours, struct browser_row, !r->is_ours)

static bool is_on_one_side(const void *row)
{
	return is_not_theirs(row) || is_not_ours(row);
}

/* Sets the name, in front of it the kind of V8's objects. */
static void get_label(const void *row, struct field_value *out)
{
	const struct browser_row *r = row;
	bool kind = !*r->name || (*r->kind && strcmp(r->kind, "native") != 0);

	field_set_owned(out, mem_format("  %s%s%s", kind ? r->kind : "",
					kind && *r->name ? " " : "", r->name));
}

static void set_off(struct field_value *out, uint64_t theirs, uint64_t ours)
{
	if (theirs && theirs == ours)
		field_set_text(out, "=");
	else if (theirs)
		field_set_owned(out, mem_format("%+.1f %%", 100 * ((double)ours - (double)theirs) /
								    (double)theirs));
}

static void get_bytes_off(const void *row, struct field_value *out)
{
	const struct browser_row *r = row;

	set_off(out, r->theirs.bytes, r->ours.bytes);
}

static void get_objects_off(const void *row, struct field_value *out)
{
	const struct browser_row *r = row;

	set_off(out, r->theirs.objects, r->ours.objects);
}

/* clang-format off */
#define ROW struct browser_row
#define SAMPLE struct browser_sample
#define RESULT struct browser
static const struct field row_fields[] = {
	{ FIELD_WORKED_OUT("label", TEXT, get_label), FIELD_NAME, .title = "",
	  .column_only = true },
	{ FIELD_TEXT("name", ROW, name), .help = "the allocator, or the type" },
	{ FIELD_TEXT("kind", ROW, kind),
	  .help = "of a snapshot's objects; internal: V8's own; empty: an allocator" },
	{ FIELD_COUNT("browser_objects", ROW, theirs.objects), .skip = is_not_theirs,
	  .title = "objects", .blank_zero = true,
	  .help = "objects, as the browser counts them; null: unknown" },
	{ FIELD_BYTES("browser_bytes", ROW, theirs.bytes), .skip = is_not_theirs,
	  .title = "browser", .help = "their bytes; null: unknown" },
	{ FIELD_COUNT("objects", ROW, ours.objects), .skip = is_not_ours, .title = "shiny",
	  .help = "objects in the session; null: unknown" },
	{ FIELD_BYTES("bytes", ROW, ours.bytes), .skip = is_not_ours, .title = "shiny",
	  .help = "their bytes; null: unknown" },
	{ FIELD_WORKED_OUT("bytes_off", TEXT, get_bytes_off), .skip = is_on_one_side,
	  .title = "off", .tint = TINT_DIM, .column_only = true },
	{ FIELD_WORKED_OUT("objects_off", TEXT, get_objects_off), .skip = is_on_one_side,
	  .title = "off", .tint = TINT_DIM, .column_only = true },
	FIELD_LAST
};
const struct field browser_sample_fields[] = {
	{ FIELD_ID("id", SAMPLE, id), .help = "the number of the dump or snapshot" },
	{ FIELD_ID("process", SAMPLE, process),
	  .help = "the id of its process; 0: not in the session" },
	{ FIELD_ID("pid", SAMPLE, pid), .help = "the pid of the process" },
	{ FIELD_FLAG("snapshot", SAMPLE, snapshot),
	  .help = "it is a heap snapshot, not a memory dump" },
	{ FIELD_TIME("at_ns", SAMPLE, time), .help = "when it was taken" },
	{ FIELD_TEXT("title", SAMPLE, title), .help = "the title of the process or page" },
	{ FIELD_ROWS("rows", SAMPLE, rows, count, row_fields), .help = "an allocator or type",
	  .shows = "label browser_bytes bytes bytes_off/2 browser_objects objects objects_off/1" },
	FIELD_LAST
};
const struct field browser_fields[] = {
	{ FIELD_COUNT("dumps", RESULT, dumps), .help = "memory dumps, at all times" },
	{ FIELD_COUNT("snapshots", RESULT, snapshots), .help = "heap snapshots, at all times" },
	{ FIELD_FLAG("compared", RESULT, compared),
	  .help = "the session has events to compare them with" },
	{ FIELD_ROWS("samples", RESULT, samples, count, browser_sample_fields), .spread = true,
	  .help = "the last dump of a process, or heap snapshot of a page, until --at" },
	FIELD_LAST
};
