/* SPDX-License-Identifier: Apache-2.0 */
/* die_members.c: see die_members.h. Every walk is bounded in depth and in steps: DWARF may have
 * classes that contain themselves. */
#include "die_members.h"

#include <dwarf.h>
#include <string.h>

#include "die.h"

#define NEST_MAX 24
#define STEPS_MAX 4096 /* limit of classes examined per call */

struct leading {
	struct debug_units *units;
	const char **out;
	size_t count, room;
	unsigned steps;
};

/* Lists the bases and members of a class at offset 0, and theirs in turn. */
static void lead(struct leading *leading, Dwarf_Die *class, unsigned depth)
{
	Dwarf_Die child;

	if (depth > NEST_MAX || !leading->steps || leading->count >= leading->room ||
	    dwarf_child(class, &child))
		return;
	leading->steps--;
	do {
		int tag = dwarf_tag(&child);
		struct die_type type;
		Dwarf_Die at;
		uint64_t bits;
		size_t known = 0;

		if ((tag != DW_TAG_inheritance && tag != DW_TAG_member) ||
		    !die_member_offset(&child, &bits) || bits ||
		    (tag == DW_TAG_inheritance && die_number(&child, DW_AT_virtuality)) ||
		    !die_reference(&child, DW_AT_type, &at))
			continue;
		for (unsigned hops = 0;
		     hops < NEST_MAX && die_peel(&at) && dwarf_tag(&at) == DW_TAG_array_type;
		     hops++)
			if (!die_reference(&at, DW_AT_type, &at))
				break;
		if (!die_is_class(dwarf_tag(&at)) || !die_type(leading->units, &at, &type))
			continue;
		while (known < leading->count && strcmp(leading->out[known], type.name))
			known++;
		if (known < leading->count)
			continue;
		if (type.kind == DIE_CLASS)
			leading->out[leading->count++] = type.name;
		lead(leading, &type.die, depth + 1);
	} while (leading->count < leading->room && die_next(&child));
}

size_t die_members_leading(struct debug_units *units, const struct die_type *type, const char **out,
			   size_t room)
{
	struct leading leading = { .units = units, .out = out, .room = room, .steps = STEPS_MAX };
	Dwarf_Die die = type->die;

	if ((type->kind == DIE_CLASS || type->kind == DIE_UNION) && room)
		lead(&leading, &die, 0);
	return leading.count;
}

/* True for a member, or a base that is not virtual, that starts at `offset` or before it. */
static bool starts_before(struct debug_units *units, Dwarf_Die *die, uint64_t offset,
			  uint64_t *bits, struct die_type *type)
{
	int tag = dwarf_tag(die);

	return (tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
	       !dwarf_hasattr(die, DW_AT_bit_size) &&
	       (tag != DW_TAG_inheritance || !die_number(die, DW_AT_virtuality)) &&
	       die_member_offset(die, bits) && *bits / 8 <= offset && die_type_of(units, die, type);
}

bool die_members_at(struct debug_units *units, const struct die_type *type, uint64_t offset,
		    struct die_type *out, const char **name)
{
	struct die_type class = *type;

	*name = NULL;
	for (int nest = 0; nest < NEST_MAX; nest++) {
		struct die_type member, next;
		Dwarf_Die child;
		uint64_t at = 0;
		bool found = false;

		if (class.kind == DIE_POINTER) {
			*out = class;
			return offset == 0 && *name;
		}
		if (class.kind == DIE_ARRAY) {
			if (!die_type_target(units, &class, &member) || !member.bytes)
				return false;
			offset %= member.bytes;
			class = member;
			continue;
		}
		if (class.kind != DIE_CLASS || dwarf_child(&class.die, &child))
			return false;
		do {
			int tag = dwarf_tag(&child);
			uint64_t bits;

			if (!starts_before(units, &child, offset, &bits, &member))
				continue;

			/* a flexible array reaches to the block's end */
			bool open = member.kind == DIE_ARRAY && class.trailing_array &&
				    bits / 8 + member.bytes >= class.bytes;

			if (offset - bits / 8 >= member.bytes && !open)
				continue;
			if (found)
				return false; /* two members hold the byte: an empty base takes one,
				               * or it is a union in disguise */
			if (tag == DW_TAG_inheritance && member.bytes <= 1)
				continue;
			found = true;
			if (tag == DW_TAG_member) {
				const char *own = dwarf_diename(&child);

				*name = own ? names_text(debug_units_names(units), own) : *name;
			}
			next = member;
			at = bits / 8;
		} while (die_next(&child));
		if (!found)
			return false;
		offset -= at;
		class = next;
	}
	return false;
}

struct alternatives {
	struct debug_units *units;
	struct die_type *out;
	size_t count, room;
	unsigned steps;
};

/* Adds the pointers at `offset`. False: they can't be told. */
static bool pointers_at(struct alternatives *to, const struct die_type *type, uint64_t offset,
			unsigned depth)
{
	struct die_type member;
	Dwarf_Die child;

	if (depth > NEST_MAX || !to->steps)
		return false;
	to->steps--;
	if (type->kind == DIE_POINTER) {
		if (offset || to->count == to->room)
			return false;
		to->out[to->count++] = *type;
		return true;
	}
	if (type->kind == DIE_ARRAY)
		return die_type_target(to->units, type, &member) && member.bytes &&
		       pointers_at(to, &member, offset % member.bytes, depth + 1);
	if (type->kind != DIE_CLASS && type->kind != DIE_UNION)
		return true; /* a number: no pointer is stored there */

	Dwarf_Die die = type->die;

	if (dwarf_child(&die, &child))
		return true;
	do {
		uint64_t bits;

		if (!starts_before(to->units, &child, offset, &bits, &member) ||
		    offset - bits / 8 >= member.bytes)
			continue;
		if (!pointers_at(to, &member, offset - bits / 8, depth + 1))
			return false;
	} while (die_next(&child));
	return true;
}

size_t die_members_of_union(struct debug_units *units, const struct die_type *type, uint64_t offset,
			    struct die_type *out, size_t room)
{
	struct alternatives to = { .units = units, .out = out, .room = room, .steps = STEPS_MAX };

	return pointers_at(&to, type, offset, 0) ? to.count : 0;
}
