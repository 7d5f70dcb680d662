/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "../../answer/field.h"
#include "../../base/mem.h"
#include "constructed.h"

FIELD_GETTER_KNOWN(get_inlined, struct constructed_row, number, (uint64_t)r->inlined,
		   r->inlined >= 0)

/* Sets the parts of the class that are not recorded, as text. */
static void get_unseen(const void *row, struct field_value *out)
{
	const struct constructed_row *r = row;
	const char *none = r->constructors ? "" : ", no constructor";

	if (r->inlined > 0 && r->unpatched)
		field_set_owned(out, mem_format("%" PRId64 " inlined, %" PRIu64 " unpatched%s",
						r->inlined, r->unpatched, none));
	else if (r->inlined > 0)
		field_set_owned(out, mem_format("%" PRId64 " inlined%s", r->inlined, none));
	else if (r->unpatched)
		field_set_owned(out, mem_format("%" PRIu64 " unpatched%s", r->unpatched, none));
	else
		field_set_text(out, !r->constructors ? "no constructor"
				    : r->inlined < 0 ? "?"
						     : "");
}

/* clang-format off */
#define ROW struct constructed_row
static const struct field count_fields[] = {
	{ FIELD_COUNT("constructions", ROW, constructions), .title = "constructed",
	  .help = "constructors that were entered" },
	{ FIELD_COUNT("delegated", ROW, delegated),
	  .help = "of these, entered by another constructor of the class" },
	{ FIELD_COUNT("destructions", ROW, destructions), .title = "destructed",
	  .help = "destructors that were entered" },
	{ FIELD_COUNT("start", ROW, places[PLACE_START]), .title = "blocks",
	  .help = "objects at the start of a block" },
	{ FIELD_COUNT("inside", ROW, places[PLACE_INSIDE]),
	  .help = "objects further inside a block" },
	{ FIELD_COUNT("stack", ROW, places[PLACE_STACK]),
	  .help = "objects on a stack" },
	{ FIELD_COUNT("static", ROW, places[PLACE_STATIC]),
	  .help = "objects in a module's static data" },
	{ FIELD_COUNT("elsewhere", ROW, places[PLACE_ELSEWHERE]),
	  .help = "objects in other memory" },
	{ FIELD_COUNT("fitting", ROW, fitting),
	  .help = "of those in blocks, objects whose bytes all lie in the block" },
	{ FIELD_COUNT("destroyed", ROW, destroyed), .title = "D",
	  .help = "objects whose destructor was entered" },
	{ FIELD_COUNT("reused", ROW, reused), .title = "R",
	  .help = "objects constructed over without a destructor" },
	{ FIELD_COUNT("freed", ROW, freed),
	  .help = "objects freed with their block without a destructor" },
	{ FIELD_COUNT("persistent", ROW, persistent), .title = "P",
	  .help = "objects with none of these ends" },
	{ FIELD_COUNT("inherited", ROW, inherited), .help = "objects that a fork copied" },
	{ FIELD_COUNT("stray", ROW, stray),
	  .help = "destructions of objects whose construction was not recorded" },
	{ FIELD_COUNT("constructors", ROW, constructors), .help = "constructors that are patched" },
	{ FIELD_COUNT("destructors", ROW, destructors), .help = "destructors that are patched" },
	{ FIELD_COUNT("unpatched", ROW, unpatched), .help = "functions that could not be patched" },
	{ FIELD_WORKED_OUT("inlined", COUNT, get_inlined),
	  .help = "calls that the compiler inlined; null: unknown" },
	FIELD_LAST
};
static const struct field row_fields[] = {
	{ FIELD_TEXT("name", ROW, name), FIELD_NAME, .title = "class", .help = "the class" },
	{ FIELD_SHARE("of_constructions", ROW, constructions, struct constructed,
		      total.constructions) },
	{ FIELD_BYTES("class_bytes", ROW, bytes), .title = "size", .blank_zero = true,
	  .help = "bytes of an object; 0: unknown" },
	{ FIELD_SAME(count_fields) },
	{ FIELD_WORKED_OUT("unseen", TEXT, get_unseen), .column_only = true, .tint = TINT_WARN },
	FIELD_LAST
};
const struct field constructed_fields[] = {
	{ FIELD_COUNT("allocations", struct constructed, allocations), .help = "blocks allocated" },
	{ FIELD_COUNT("deallocations", struct constructed, deallocations), .help = "blocks freed" },
	{ FIELD_OBJECT("total", struct constructed, total, count_fields), .spread = true,
	  .help = "the sums of all rows" },
	{ FIELD_ROWS("rows", struct constructed, rows, count, row_fields), .limited = true,
	  .shows = "of_constructions/8 constructions destructions start/4 inside/4 stack/4 "
		   "static/6 elsewhere/7 destroyed/2 reused/2 freed/3 persistent/2 class_bytes/5 "
		   "unseen/1 name",
	  .help = "a class" },
	FIELD_LAST
};
