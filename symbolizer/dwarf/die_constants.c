/* SPDX-License-Identifier: Apache-2.0 */
/* die_constants.c: see die_constants.h. */
#include "die_constants.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "die.h"

/* Gets the type of a parameter without typedefs and qualifiers. False: none. */
static bool plain_type(Dwarf_Die *parameter, Dwarf_Die *out)
{
	if (!die_reference(parameter, DW_AT_type, out) || !die_peel_typedefs(out))
		return false;
	for (int hops = 0; hops < 8 && (dwarf_tag(out) == DW_TAG_const_type ||
					dwarf_tag(out) == DW_TAG_volatile_type);
	     hops++)
		if (!die_reference(out, DW_AT_type, out) || !die_peel_typedefs(out))
			return false;
	return true;
}

bool die_constant_value(Dwarf_Die *parameter, struct name_text *number, Dwarf_Die *enumeration)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type, base;
	Dwarf_Word encoding = 0, bytes;
	Dwarf_Sword value;
	char text[80];

	*enumeration = (Dwarf_Die){ 0 };
	if (!plain_type(parameter, &type))
		return false;
	base = type;
	if (dwarf_tag(&type) == DW_TAG_enumeration_type) {
		*enumeration = type;
		if (die_reference(&type, DW_AT_type, &base) && !die_peel_typedefs(&base))
			return false;
	} else if (dwarf_tag(&type) != DW_TAG_base_type) {
		return false;
	}
	bytes = (Dwarf_Word)dwarf_bytesize(&base);
	if (dwarf_attr(&base, DW_AT_encoding, &attribute))
		dwarf_formudata(&attribute, &encoding);
	if (!dwarf_attr(parameter, DW_AT_const_value, &attribute) ||
	    dwarf_formsdata(&attribute, &value))
		return false;

	bool is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	unsigned bits = bytes && bytes < 8 ? 64 - (unsigned)bytes * 8 : 0;

	if (encoding == DW_ATE_boolean)
		snprintf(text, sizeof(text), "%s", value ? "true" : "false");
	else if (is_signed)
		snprintf(text, sizeof(text), "%lld",
			 (long long)((int64_t)((uint64_t)value << bits) >> bits));
	else if (encoding == DW_ATE_unsigned || encoding == DW_ATE_unsigned_char ||
		 encoding == DW_ATE_UTF || enumeration->addr)
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)((uint64_t)value << bits >> bits));
	else
		return false;
	name_text_put(number, text);
	return true;
}

void die_constant_bounds(Dwarf_Die *array, struct name_text *out)
{
	Dwarf_Die child;
	char number[32];

	if (dwarf_child(array, &child)) {
		name_text_put(out, "[]");
		return;
	}
	do {
		uint64_t count;

		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (die_subrange(&child, &count))
			snprintf(number, sizeof(number), "[%llu]", (unsigned long long)count);
		else
			strcpy(number, "[]");
		name_text_put(out, number);
	} while (die_next(&child));
}
