/* SPDX-License-Identifier: Apache-2.0 */
/* graph_fields.c: describes the results of this room that are lists of rows (answer/field.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/mem.h"
#include "block_owners.h"
#include "edge_growth.h"
#include "heap_graph.h"
#include "retained.h"
#include "retainers.h"
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

FIELD_GETTER(get_bytes, struct unreachable_sums, number, r->direct_bytes + r->indirect_bytes)
FIELD_GETTER(get_blocks, struct unreachable_sums, number, r->direct + r->indirect)

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

/* ---- retained ---- */

/* A root has no blocks of its own. */
FIELD_GETTER_BLANK(get_own_bytes, struct retained_row, number, r->bytes, !r->blocks)

#define KEPT struct retained_row
static const struct field retained_row_fields[] = {
	{ FIELD_TEXT("name", KEPT, name), FIELD_BY_NAME,
	  .help = "the type, call site, member, component or root" },
	{ FIELD_COUNT("retained", KEPT, retained), .title = "blocks",
	  .help = "blocks that would go with those of the row: its own, and those that only they "
		  "keep" },
	{ FIELD_BYTES("retained_bytes", KEPT, retained_bytes), .title = "retained",
	  .help = "their bytes" },
	{ FIELD_SHARE("of_bytes", KEPT, retained_bytes, struct retained, bytes) },
	{ FIELD_COUNT("blocks", KEPT, blocks), .title = "own blocks", .blank_zero = true,
	  .help = "the row's own blocks" },
	{ FIELD_WORKED_OUT("bytes", BYTES, get_own_bytes), .title = "own bytes",
	  .help = "their bytes" },
	{ FIELD_ID("largest", KEPT, largest),
	  .help = "the address of its block that retains most; 0: a root" },
	{ FIELD_BYTES("largest_bytes", KEPT, largest_bytes), .help = "what this block retains" },
	FIELD_LAST
};
const struct field retained_fields[] = {
	{ FIELD_GROUP(struct retained, facts, graph_facts_fields) },
	{ FIELD_COUNT("blocks", struct retained, blocks), .help = "blocks that roots reach" },
	{ FIELD_BYTES("bytes", struct retained, bytes), .help = "their bytes" },
	{ FIELD_COUNT("unreachable", struct retained, unreachable),
	  .help = "blocks that no root reaches" },
	{ FIELD_BYTES("unreachable_bytes", struct retained, unreachable_bytes),
	  .help = "their bytes" },
	{ FIELD_ROWS("rows", struct retained, rows, count, retained_row_fields), .limited = true,
	  .shows = "retained_bytes of_bytes retained/2 bytes blocks/1 name",
	  .help = "a type, call site, member, component or root" },
	FIELD_LAST
};

/* ---- owners ---- */

#define OWNERS struct block_owners
#define OWNER struct block_owners_row
static const struct field block_owners_sums_fields[] = {
	{ FIELD_COUNT("blocks", struct block_owners_sums, blocks), .help = "the blocks" },
	{ FIELD_BYTES("bytes", struct block_owners_sums, bytes), .help = "their bytes" },
	FIELD_LAST
};
static const struct field block_owners_row_fields[] = {
	{ FIELD_TEXT("name", OWNER, name), FIELD_NAME, .title = "owner", .help = "the owner" },
	{ FIELD_COUNT("blocks", OWNER, blocks),
	  .help = "its own blocks, and those that hang on them alone" },
	{ FIELD_BYTES("bytes", OWNER, bytes), .help = "their bytes" },
	{ FIELD_SHARE("of_bytes", OWNER, bytes, OWNERS, all.bytes) },
	{ FIELD_COUNT("own_blocks", OWNER, own), .help = "blocks that the rules name" },
	{ FIELD_BYTES("own_bytes", OWNER, own_bytes), .help = "their bytes" },
	{ FIELD_ID("address", OWNER, address),
	  .help = "of one of the blocks that the rules name; 0: the owner is a variable" },
	FIELD_LAST
};
const struct field block_owners_fields[] = {
	{ FIELD_GROUP(OWNERS, facts, graph_facts_fields) },
	{ FIELD_GROUP(OWNERS, all, block_owners_sums_fields) },
	{ FIELD_OBJECT("shared", OWNERS, shared, block_owners_sums_fields), .spread = true,
	  .help = "blocks that several owners, or shared blocks, lead to" },
	{ FIELD_OBJECT("common", OWNERS, common, block_owners_sums_fields), .spread = true,
	  .help = "blocks that the rules call common" },
	{ FIELD_OBJECT("unknown", OWNERS, unknown, block_owners_sums_fields), .spread = true,
	  .help = "blocks that a root leads to, but no owner" },
	{ FIELD_OBJECT("unreachable", OWNERS, unreachable, block_owners_sums_fields),
	  .spread = true, .help = "blocks that neither a root nor an owner leads to" },
	{ FIELD_ROWS("rows", OWNERS, rows, count, block_owners_row_fields), .limited = true,
	  .shows = "bytes of_bytes blocks own_bytes/1 own_blocks/2 name", .help = "an owner" },
	FIELD_LAST
};

/* ---- retainers ---- */

static void get_sure(const void *row, struct field_value *out)
{
	const struct retainer_step *step = row;

	field_set_flag(out, step->sure);
	out->absent = !step->leads;
}

static void get_offset(const void *row, struct field_value *out)
{
	const struct retainer_step *step = row;

	field_set_number(out, step->offset);
	out->absent = !step->one_offset;
}

/* Sets "g_service (server) → Service::cache_ (std::map) → Entry… → char[]+0x18 → Name"; … for
 * several in a row, +0x18 if the word has no name. */
static void get_way(const void *row, struct field_value *out)
{
	const struct retainer_row *way = row;
	char *text = mem_text("");

	for (size_t i = 0; i < way->step_count; i++) {
		const struct retainer_step *step = &way->steps[i];
		char offset[32] = "", *longer;

		if (i && step->one_offset && !step->member)
			snprintf(offset, sizeof(offset), "+0x%" PRIx64, step->offset);
		longer = mem_format("%s%s%s%s%s", text, i ? " \xe2\x86\x92 " : "",
				    step->member ? step->member : step->name,
				    step->repeated ? "\xe2\x80\xa6" : "", offset);
		free(text);
		text = longer;
	}
	field_set_owned(out, text);
}

static void get_kept_by(const void *row, struct field_value *out)
{
	const struct keeper_row *keeper = row;

	if (keeper->way.step_count)
		get_way(&keeper->way, out);
	else
		field_set_text(out, "no root reaches it");
}

#define STEP struct retainer_step
#define WAY struct retainer_row
#define WAYS struct retainers
#define KEEPER struct keeper_row
static const struct field retainer_step_fields[] = {
	{ FIELD_TEXT("name", STEP, name), .help = "the root, or the type of the block" },
	{ FIELD_TEXT("member", STEP, member),
	  .help = "the member that leads to the next step; null: unknown" },
	{ FIELD_FLAG("repeated", STEP, repeated),
	  .help = "it stands for several blocks of the type in a row" },
	{ FIELD_WORKED_OUT("sure", FLAG, get_sure),
	  .help = "the words that lead to the next step are variables or pointers by layout" },
	{ FIELD_WORKED_OUT("offset", ID, get_offset),
	  .help = "the offset in the block of the pointer to the next step, where it is the same "
		  "for all" },
	FIELD_LAST
};
static const struct field retainer_row_fields[] = {
	{ FIELD_COUNT("blocks", WAY, blocks), .help = "selected blocks at the end of the way" },
	{ FIELD_BYTES("bytes", WAY, bytes), .help = "their bytes" },
	{ FIELD_ID("address", WAY, address), .help = "of one of these blocks" },
	{ FIELD_WORKED_OUT("way", TEXT, get_way), FIELD_NAME, .column_only = true },
	{ FIELD_ROWS("steps", WAY, steps, step_count, retainer_step_fields),
	  .help = "a step of the way, the root first" },
	FIELD_LAST
};
const struct field retainers_fields[] = {
	{ FIELD_GROUP(WAYS, facts, graph_facts_fields) },
	{ FIELD_COUNT("blocks", WAYS, blocks), .help = "selected blocks that roots reach" },
	{ FIELD_BYTES("bytes", WAYS, bytes), .help = "their bytes" },
	{ FIELD_COUNT("unreachable", WAYS, unreachable),
	  .help = "selected blocks that no root reaches" },
	{ FIELD_BYTES("unreachable_bytes", WAYS, unreachable_bytes), .help = "their bytes" },
	{ FIELD_ROWS("rows", WAYS, rows, count, retainer_row_fields), .limited = true,
	  .shows = "bytes blocks way", .help = "a way from a root to blocks" },
	FIELD_LAST
};
static const struct field keeper_row_fields[] = {
	{ FIELD_TEXT("name", KEEPER, name), FIELD_BY_NAME,
	  .help = "the type, call site or component" },
	{ FIELD_ID("snapshot", KEEPER, snapshot), .help = "the number of the snapshot" },
	{ FIELD_COUNT("blocks", KEEPER, blocks), .help = "its blocks in the snapshot" },
	{ FIELD_BYTES("bytes", KEEPER, bytes), .help = "their bytes" },
	{ FIELD_COUNT("kept_blocks", KEEPER, way.blocks),
	  .help = "those at the end of the way that keeps most bytes" },
	{ FIELD_BYTES("kept_bytes", KEEPER, way.bytes), .title = "of it", .help = "their bytes" },
	{ FIELD_WORKED_OUT("kept_by", TEXT, get_kept_by), .column_only = true, .flexible = true,
	  .cut = TEXT_CUT_MIDDLE },
	{ FIELD_ROWS("steps", KEEPER, way.steps, way.step_count, retainer_step_fields),
	  .help = "a step of this way, the root first" },
	FIELD_LAST
};
const struct field keepers_fields[] = {
	{ FIELD_ROWS("kept_by", struct keepers, rows, count, keeper_row_fields),
	  .shows = "bytes name kept_bytes/1 kept_by",
	  .help = "the way that keeps most bytes of a type, call site or component" },
	FIELD_LAST
};
