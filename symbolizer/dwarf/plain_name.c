/* SPDX-License-Identifier: Apache-2.0 */
/* plain_name.c: see plain_name.h. */
#include "plain_name.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../elf/demangle.h"
#include "debug_lines.h"
#include "die.h"

void plain_name_unnamed(struct debug_units *units, Dwarf_Die *die, struct name_text *out)
{
	const char *file =
		dwarf_hasattr(die, DW_AT_decl_file)
			? debug_lines_file(units, die, die_number(die, DW_AT_decl_file))
			: NULL;
	const char *slash = file ? strrchr(file, '/') : NULL;
	int line = 0, tag = dwarf_tag(die);
	char number[24];

	name_text_put(out, die_is_lambda(die)		    ? "{lambda"
			   : tag == DW_TAG_enumeration_type ? "{unnamed enum"
			   : tag == DW_TAG_union_type	    ? "{unnamed union"
			   : tag == DW_TAG_class_type	    ? "{unnamed class"
							    : "{unnamed struct");
	if (file && !dwarf_decl_line(die, &line) && line > 0) {
		name_text_put(out, " at ");
		name_text_put(out, slash ? slash + 1 : file);
		snprintf(number, sizeof(number), ":%d", line);
		name_text_put(out, number);
	}
	name_text_put(out, "}");
}

void plain_name_string(Dwarf_Die *string, struct name_text *out)
{
	char text[80];
	uint64_t bytes, unit;

	if (die_string(string, &bytes, &unit))
		snprintf(text, sizeof(text), "character(kind=%llu,len=%llu)",
			 (unsigned long long)unit, (unsigned long long)(bytes / unit));
	else
		snprintf(text, sizeof(text), "character(kind=%llu)", (unsigned long long)unit);
	name_text_put(out, text);
}

const char *plain_name_ada(struct debug_units *units, Dwarf_Die *die, const char *name)
{
	/* a simple name stays as it is */
	char *readable = name && strstr(name, "__") && die_is_ada(die) ? demangle_ada(name) : NULL;
	const char *result = readable ? names_text(debug_units_names(units), readable) : name;

	free(readable);
	return result;
}
