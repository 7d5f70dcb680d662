/* SPDX-License-Identifier: Apache-2.0 */
/* die.c: see die.h. */
#include "die.h"

#include <dwarf.h>
#include <string.h>

/* A gfortran descriptor: address, offset, type, span; for each dimension stride and bounds. */
enum { DESCRIPTOR_BYTES = 40, DESCRIPTOR_DIMENSION = 24 };

bool die_reference(Dwarf_Die *die, unsigned attribute_name, Dwarf_Die *out)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, attribute_name, &attribute) && dwarf_formref_die(&attribute, out);
}

bool die_flag(Dwarf_Die *die, unsigned attribute_name)
{
	Dwarf_Attribute attribute;
	bool value;

	return dwarf_attr(die, attribute_name, &attribute) && !dwarf_formflag(&attribute, &value) &&
	       value;
}

uint32_t die_number(Dwarf_Die *die, unsigned attribute_name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, attribute_name, &attribute) || dwarf_formudata(&attribute, &value) ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

Dwarf_Die die_origin(Dwarf_Die *die)
{
	Dwarf_Die origin = *die, next;

	for (int hops = 0; hops < DIE_HOPS_MAX; hops++) {
		Dwarf_Attribute attribute;

		if ((!dwarf_attr(&origin, DW_AT_abstract_origin, &attribute) &&
		     !dwarf_attr(&origin, DW_AT_specification, &attribute)) ||
		    !dwarf_formref_die(&attribute, &next))
			break;
		origin = next;
	}
	return origin;
}

bool die_is_class(int tag)
{
	return tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_interface_type;
}

/*
 * A lambda has an operator(). If that is never called, gcc declares its constructor "<lambda>", and
 * clang leaves an empty "class", which programs hardly contain otherwise.
 */
bool die_is_lambda(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	int tag = dwarf_tag(die);
	Dwarf_Die child;

	if (name)
		return !strncmp(name, "<lambda", 7);
	if (tag != DW_TAG_class_type && tag != DW_TAG_structure_type)
		return false;
	if (dwarf_child(die, &child))
		return tag == DW_TAG_class_type && !die_flag(die, DW_AT_declaration);
	do {
		name = dwarf_tag(&child) == DW_TAG_subprogram ? dwarf_diename(&child) : NULL;
		if (name && (!strncmp(name, "operator()", 10) || !strcmp(name, "<lambda>")))
			return true;
	} while (die_next(&child));
	return false;
}

bool die_named_by_typedef(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return (die_is_class(tag) || tag == DW_TAG_enumeration_type) && !dwarf_diename(die) &&
	       !dwarf_hasattr(die, DW_AT_signature) && !dwarf_hasattr(die, DW_AT_specification) &&
	       !die_is_lambda(die);
}

bool die_peel_typedefs(Dwarf_Die *die)
{
	for (int hops = 0; hops < DIE_PEEL_MAX; hops++) {
		int tag = dwarf_tag(die);

		if (tag != DW_TAG_typedef && tag != DW_TAG_template_alias) {
			die_reference(die, DW_AT_signature, die);
			return true;
		}
		if (!die_reference(die, DW_AT_type, die))
			return false;
	}
	return false;
}

bool die_peel(Dwarf_Die *die)
{
	for (int hops = 0; hops < DIE_PEEL_MAX; hops++) {
		int tag = dwarf_tag(die);

		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type &&
		    tag != DW_TAG_volatile_type)
			return true;
		if (!die_reference(die, DW_AT_type, die))
			return false;
	}
	return false;
}

/* Returns an enum DW_LANG; 0: unknown. */
static uint32_t language_of(Dwarf_Die *die)
{
	Dwarf_Die unit;

	return dwarf_diecu(die, &unit, NULL, NULL) ? die_number(&unit, DW_AT_language) : 0;
}

bool die_subrange(Dwarf_Die *subrange, uint64_t *count)
{
	Dwarf_Attribute attribute;
	Dwarf_Word upper, lower;
	Dwarf_Sword first = 0; /* default of the language */

	if (dwarf_attr(subrange, DW_AT_count, &attribute) && !dwarf_formudata(&attribute, count))
		return true;
	if (!dwarf_attr(subrange, DW_AT_upper_bound, &attribute) ||
	    dwarf_formudata(&attribute, &upper))
		return false;
	if (dwarf_attr(subrange, DW_AT_lower_bound, &attribute)) {
		if (dwarf_formudata(&attribute, &lower))
			return false;
	} else {
		dwarf_default_lower_bound((int)language_of(subrange), &first);
		lower = (Dwarf_Word)first;
	}
	/* [0] has -1 as its upper bound, in any width */
	*count = upper == UINT32_MAX || (int64_t)upper < (int64_t)lower ? 0 : upper - lower + 1;
	return true;
}

/* Adds the offset of a DWARF 3 bit-field, which counts from the most significant bit of its
 * storage. */
static bool add_bit_offset(Dwarf_Die *member, uint64_t from_the_top, uint64_t *bits)
{
	int storage = dwarf_bytesize(member), size = dwarf_bitsize(member);
	Dwarf_Die type;

	if (storage <= 0 && die_reference(member, DW_AT_type, &type)) {
		Dwarf_Word word;

		storage = dwarf_aggregate_size(&type, &word) ? 0 : (int)word;
	}
	if (storage <= 0 || size <= 0 || (int64_t)from_the_top + size > (int64_t)storage * 8)
		return false;
	*bits += (uint64_t)storage * 8 - from_the_top - (uint64_t)size;
	return true;
}

bool die_member_offset(Dwarf_Die *member, uint64_t *bits)
{
	Dwarf_Attribute attribute;
	Dwarf_Word bytes = 0, value;

	if (dwarf_attr(member, DW_AT_data_bit_offset, &attribute) &&
	    !dwarf_formudata(&attribute, &value)) {
		*bits = value;
		return true;
	}
	if (dwarf_attr(member, DW_AT_data_member_location, &attribute)) {
		if (dwarf_formudata(&attribute, &bytes)) {
			Dwarf_Op *ops;
			size_t count;

			/* older compilers write an expression; a virtual base's depends on the
			 * object */
			if (dwarf_getlocation(&attribute, &ops, &count) || count != 1 ||
			    ops[0].atom != DW_OP_plus_uconst)
				return false;
			bytes = ops[0].number;
		}
	} else if (die_flag(member, DW_AT_external) || die_flag(member, DW_AT_declaration)) {
		return false; /* a static member */
	}
	*bits = bytes * 8;
	if (dwarf_attr(member, DW_AT_bit_offset, &attribute) &&
	    !dwarf_formudata(&attribute, &value))
		return add_bit_offset(member, value, bits);
	return true;
}

unsigned die_descriptor(Dwarf_Die *array)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_tag(array) != DW_TAG_array_type ||
	    !dwarf_attr(array, DW_AT_data_location, &attribute) ||
	    dwarf_getlocation(&attribute, &ops, &count) || count < 2 || count > 3 ||
	    ops[0].atom != DW_OP_push_object_address)
		return 0;
	for (size_t i = 1; i < count; i++)
		if (ops[i].atom != DW_OP_deref)
			return 0;
	return (unsigned)count - 1;
}

uint64_t die_descriptor_bytes(Dwarf_Die *array)
{
	uint64_t bytes = DESCRIPTOR_BYTES;
	Dwarf_Die child;

	if (!dwarf_child(array, &child))
		do
			if (dwarf_tag(&child) == DW_TAG_subrange_type)
				bytes += DESCRIPTOR_DIMENSION;
		while (die_next(&child));
	return bytes;
}

bool die_string(Dwarf_Die *string, uint64_t *bytes, uint64_t *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Die character;
	Dwarf_Word value = 0;
	int size = die_reference(string, DW_AT_type, &character) ? dwarf_bytesize(&character) : 1;

	*unit = size > 0 ? (uint64_t)size : 1;
	*bytes = !dwarf_hasattr(string, DW_AT_string_length) &&
				 dwarf_attr(string, DW_AT_byte_size, &attribute) &&
				 !dwarf_formudata(&attribute, &value)
			 ? value
			 : 0;
	return *bytes != 0;
}

bool die_is_ada(Dwarf_Die *die)
{
	switch (language_of(die)) {
	case DW_LANG_Ada83:
	case DW_LANG_Ada95:
	case 0x2e: /* Ada 2005 and 2012, which this dwarf.h lacks */
	case 0x2f: return true;
	default: return false;
	}
}

bool die_is_fortran(Dwarf_Die *die)
{
	switch (language_of(die)) {
	case DW_LANG_Fortran77:
	case DW_LANG_Fortran90:
	case DW_LANG_Fortran95:
	case DW_LANG_Fortran03:
	case DW_LANG_Fortran08:
	case 0x2d: return true; /* 2018 */
	default: return false;
	}
}

bool die_in_types_section(Dwarf_Die *die)
{
	Dwarf_Half version = 0;
	uint8_t type = 0;

	dwarf_cu_info(die->cu, &version, &type, NULL, NULL, NULL, NULL, NULL);
	return version == 4 && (type == DW_UT_type || type == DW_UT_split_type);
}

uint64_t die_unit_bytes(Dwarf_Die *unit)
{
	Dwarf_Off first = dwarf_dieoffset(unit), next = 0;
	size_t header = dwarf_cuoffset(unit);
	uint64_t signature;

	/* an argument for the signature makes dwarf_next_unit() look in .debug_types */
	if (dwarf_next_unit(dwarf_cu_getdwarf(unit->cu), first - header, &next, &header, NULL, NULL,
			    NULL, NULL, die_in_types_section(unit) ? &signature : NULL, NULL) ||
	    next <= first)
		return 1u << 24;
	return next - first;
}

bool die_at_offset(Dwarf_Die *unit, Dwarf_Off offset, Dwarf_Die *out)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->cu);

	return die_in_types_section(unit) ? dwarf_offdie_types(dwarf, offset, out) != NULL
					  : dwarf_offdie(dwarf, offset, out) != NULL;
}
