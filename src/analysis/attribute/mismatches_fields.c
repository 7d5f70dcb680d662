/* SPDX-License-Identifier: Apache-2.0 */
#include "../../store/event_names.h"
#include "mismatches.h"

FIELD_SKIP(is_unknown, struct mismatch, r->kind == MISMATCH_UNKNOWN)
FIELD_GETTER(get_allocated_by, struct mismatch, text, api_name(r->got))
FIELD_GETTER(get_freed_by, struct mismatch, text, api_name(r->freed))

/* clang-format off */
#define ROW struct mismatch
const struct field mismatch_fields[] = {
	{ FIELD_WORD("kind", ROW, kind, mismatch_names),
	  .help = "family, size, double or unknown" },
	{ FIELD_COUNT("count", ROW, count), .help = "frees with these stacks" },
	{ FIELD_WORKED_OUT("allocated_by", TEXT, get_allocated_by), .skip = is_unknown,
	  .help = "the function that allocated; null: unknown" },
	{ FIELD_WORKED_OUT("freed_by", TEXT, get_freed_by), .help = "the function that freed" },
	{ FIELD_BYTES("size", ROW, size),
	  .help = "of sized delete: the size of the first block" },
	{ FIELD_BYTES("claimed", ROW, claimed),
	  .help = "of sized delete: the size that it was told for that block" },
	{ FIELD_ID("process", ROW, process), .help = "the process of the first free" },
	{ FIELD_ADDRESS("address", ROW, address), .help = "the address of the first block" },
	{ FIELD_TIME("first_ns", ROW, first_ns), .help = "when the first of them was freed" },
	FIELD_LAST
};
#define RESULT struct mismatches
const struct field mismatch_kinds_fields[] = {
	{ FIELD_COUNT("family", RESULT, blocks[MISMATCH_FAMILY]),
	  .help = "blocks freed by another family of functions than allocated them" },
	{ FIELD_COUNT("size", RESULT, blocks[MISMATCH_SIZE]),
	  .help = "blocks for which sized delete was told another size" },
	{ FIELD_COUNT("double", RESULT, blocks[MISMATCH_DOUBLE]), .help = "blocks freed twice" },
	{ FIELD_COUNT("unknown", RESULT, blocks[MISMATCH_UNKNOWN]),
	  .help = "frees of what is not known to be a block" },
	FIELD_LAST
};
