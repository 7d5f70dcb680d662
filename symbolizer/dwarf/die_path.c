/* SPDX-License-Identifier: Apache-2.0 */
/* die_path.c: see die_path.h. */
#include "die_path.h"

#include <dwarf.h>
#include <string.h>

#include "debug_unit.h"
#include "die.h"
#include "die_normalize.h"

enum { PARTS_MAX = 48 };

/* Returns the name of one scope; NULL: it has none. */
static const char *part_of(const struct debug_unit *unit, uint32_t at)
{
	const struct die_container *container = &unit->containers.at[at];
	Dwarf_Die die, defined;

	if (container->name)
		return container->name;
	if (container->tag == DW_TAG_namespace)
		return "(anonymous namespace)";
	return debug_unit_container_die(unit, at, &die) &&
			       die_reference(&die, DW_AT_signature, &defined)
		       ? dwarf_diename(&defined)
		       : NULL;
}

const char *die_function_path(struct debug_units *units, Dwarf_Die *function)
{
	Dwarf_Die die = die_origin(function);
	struct debug_unit *unit = debug_units_of(units, &die);
	uint32_t at = unit ? debug_unit_container(unit, &die) : NO_SCOPE;
	const char *name = dwarf_diename(&die), *parts[PARTS_MAX], *result;
	struct name_text text = { 0 };
	size_t count = 0;

	if (!name)
		name = dwarf_diename(function);
	if (!name || dwarf_tag(&die) == DW_TAG_lexical_block)
		return NULL;
	/* the path of a local class starts with the class */
	for (; at != NO_SCOPE && count < PARTS_MAX &&
	       unit->containers.at[at].tag != DW_TAG_subprogram;
	     at = unit->containers.at[at].parent) {
		const char *part = part_of(unit, at);

		parts[count++] = part ? part : "{unnamed}";
	}
	while (count--) {
		const char *part = *parts[count] == '<' ? "{lambda}" : parts[count];

		name_text_add(&text, part,
			      *part == '(' || *part == '{' ? strlen(part) : die_bare_length(part));
		name_text_put(&text, "::");
	}
	name_text_add(&text, name, die_bare_length(name));
	result = names_text(debug_units_names(units), text.at);
	name_text_free(&text);
	return result;
}
