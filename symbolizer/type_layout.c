/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_layout.c: lists a type's layout by its name (sym_type_layout): finds the definition and
 * passes on the rows of die_layout.c without elfutils' types.
 */
#include "dwarf/debug_definitions.h"
#include "dwarf/die_layout.h"
#include "module.h"

struct relay {
	sym_member_fn *each;
	void *context;
};

static bool pass(void *context, const struct die_member *member)
{
	static const enum sym_member_what what[] = {
		[DIE_MEMBER] = SYM_MEMBER, [DIE_BASE_CLASS] = SYM_BASE_CLASS, [DIE_VPTR] = SYM_VPTR,
		[DIE_HOLE] = SYM_HOLE,	   [DIE_PADDING] = SYM_PADDING,
	};
	const struct relay *relay = context;
	struct sym_member out = {
		.name = member->name,
		.type = member->type,
		.offset = member->offset,
		.bytes = member->bytes,
		.depth = member->depth,
		.bit_offset = member->bit_offset,
		.bit_size = member->bit_size,
		.what = what[member->what],
	};

	return relay->each(relay->context, &out);
}

bool sym_type_layout(struct sym_module *module, const char *type, uint64_t *bytes,
		     sym_member_fn *each, void *context)
{
	struct relay relay = { each, context };
	struct debug_units *units = module_units(module);
	struct die_type found;
	bool good;
	Dwarf_Die die;

	if (!units)
		return false;
	debug_units_hold(units, true);
	good = debug_definitions_class(units, type, NULL, &die) && die_type(units, &die, &found) &&
	       (found.kind == DIE_CLASS || found.kind == DIE_UNION);
	if (good) {
		*bytes = found.bytes;
		die_type_layout(units, &found, pass, &relay);
	}
	debug_units_hold(units, false);
	return good;
}
