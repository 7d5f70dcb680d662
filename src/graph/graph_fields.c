/* SPDX-License-Identifier: Apache-2.0 */
/* graph_fields.c: describes the results of this room that are lists of rows (answer/field.h). */
#include "edge_growth.h"
#include "heap_graph.h"
#include "unreachable.h"

/* clang-format off */
const struct field graph_facts_fields[] = {
	{ FIELD_ID("snapshot", struct graph_facts, snapshot),
	  .help = "the number of the snapshot" },
	{ FIELD_ID("process", struct graph_facts, process), .help = "its process" },
	{ FIELD_ID("pid", struct graph_facts, pid), .help = "the pid of the process" },
	{ FIELD_TIME("at_ns", struct graph_facts, time), .help = "when it was taken" },
	FIELD_LAST
};

/* ---- unreachable ---- */

static void get_bytes(const void *row, struct field_value *out)
{
	const struct unreachable_sums *sums = row;

	field_set_number(out, sums->direct_bytes + sums->indirect_bytes);
}

static void get_blocks(const void *row, struct field_value *out)
{
	const struct unreachable_sums *sums = row;

	field_set_number(out, sums->direct + sums->indirect);
}

static const struct field unreachable_sums_fields[] = {
	{ FIELD_WORKED_OUT("bytes", BYTES, get_bytes), .column_only = true },
	{ FIELD_WORKED_OUT("blocks", COUNT, get_blocks), .column_only = true },
	{ FIELD_COUNT("direct", struct unreachable_sums, direct),
	  .help = "unreachable blocks that no other unreachable block points to" },
	{ FIELD_BYTES("direct_bytes", struct unreachable_sums, direct_bytes),
	  .help = "their bytes" },
	{ FIELD_COUNT("indirect", struct unreachable_sums, indirect),
	  .help = "the other unreachable blocks" },
	{ FIELD_BYTES("indirect_bytes", struct unreachable_sums, indirect_bytes),
	  .help = "their bytes" },
	FIELD_LAST
};
static const struct field unreachable_row_fields[] = {
	{ FIELD_TEXT("name", struct unreachable_row, name), FIELD_BY_NAME,
	  .help = "the call site, or the type" },
	{ FIELD_GROUP(struct unreachable_row, sums, unreachable_sums_fields) },
	{ FIELD_ID("address", struct unreachable_row, address), .help = "of one of the blocks" },
	{ FIELD_ID("stack", struct unreachable_row, stack), .help = "the id of its stack" },
	FIELD_LAST
};
const struct field unreachable_fields[] = {
	{ FIELD_GROUP(struct unreachable, facts, graph_facts_fields) },
	{ FIELD_BYTES("unread", struct unreachable, facts.unread),
	  .help = "bytes of its memory that could not be read" },
	{ FIELD_COUNT("blocks", struct unreachable, blocks), .help = "all blocks of the snapshot" },
	{ FIELD_BYTES("bytes", struct unreachable, bytes), .help = "their bytes" },
	{ FIELD_GROUP(struct unreachable, sums, unreachable_sums_fields) },
	{ FIELD_COUNT("suppressed", struct unreachable, suppressed),
	  .help = "unreachable blocks that --suppressions leaves out" },
	{ FIELD_BYTES("suppressed_bytes", struct unreachable, suppressed_bytes),
	  .help = "their bytes" },
	{ FIELD_ROWS("rows", struct unreachable, rows, count, unreachable_row_fields),
	  .limited = true, .shows = "bytes blocks direct/1 indirect/2 name",
	  .help = "a call site or type" },
	FIELD_LAST
};

/* ---- growth --edges ---- */

static const struct field edge_growth_row_fields[] = {
	{ FIELD_TEXT("name", struct edge_growth_row, name), FIELD_NAME, .title = "held by",
	  .help = "the member, container or variable" },
	{ FIELD_COUNT("blocks", struct edge_growth_row, blocks), .title = "now",
	  .help = "blocks behind it in the later snapshot" },
	{ FIELD_BYTES("bytes", struct edge_growth_row, bytes), .title = "bytes now",
	  .help = "their bytes" },
	{ FIELD_OF("blocks_gained", FIELD_KIND_COUNT_CHANGE, struct edge_growth_row, blocks_gained),
	  .title = "blocks", .help = "blocks gained since the earlier snapshot; below zero: lost" },
	{ FIELD_OF("bytes_gained", FIELD_KIND_BYTES_CHANGE, struct edge_growth_row, bytes_gained),
	  .title = "gained", .tint = TINT_BOLD, .help = "bytes gained; below zero: lost" },
	FIELD_LAST
};
const struct field edge_growth_fields[] = {
	{ FIELD_OBJECT("before", struct edge_growth, facts[0], graph_facts_fields), .spread = true,
	  .help = "the earlier snapshot" },
	{ FIELD_OBJECT("after", struct edge_growth, facts[1], graph_facts_fields), .spread = true,
	  .help = "the later snapshot" },
	{ FIELD_ROWS("rows", struct edge_growth, rows, count, edge_growth_row_fields),
	  .limited = true, .shows = "bytes_gained blocks_gained blocks/1 bytes/2 name",
	  .help = "a member, container or variable that gained or lost references" },
	FIELD_LAST
};
