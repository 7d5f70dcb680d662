/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_type.c: see die_type.h. What a type is made of; its name is die_name.c's business, its layout
 * die_layout.c's.
 *
 * Every chain of references is followed for a bounded number of steps: the DWARF may have cycles.
 */
#include "die_type.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "die_name.h"
#include "debug_unit.h"

#define HOPS_MAX 64
#define NEST_MAX 24
#define STEPS_MAX 4096 /* classes that one question may look into */

/* Replaces a declaration by its definition: in a type unit, or anywhere that has one of the
 * name. */
static void define(struct debug_units *units, Dwarf_Die *die, const char *name)
{
	Dwarf_Die defined;

	if (die_reference(die, DW_AT_signature, &defined) &&
	    die_is_class(dwarf_tag(&defined)) == die_is_class(dwarf_tag(die)))
		*die = defined;
	if (die_flag(die, DW_AT_declaration) && name && *name &&
	    debug_definition(units, name, die, &defined))
		*die = defined;
}

static bool resolve(struct debug_units *units, Dwarf_Die *die, struct die_type *out);

static bool has_vptr(struct debug_units *units, Dwarf_Die *class, unsigned depth, unsigned *steps)
{
	Dwarf_Die child, base;

	if (dwarf_hasattr(class, DW_AT_containing_type))
		return true;
	if (depth > NEST_MAX || !*steps || dwarf_child(class, &child))
		return false;
	--*steps;
	do {
		int tag = dwarf_tag(&child);
		const char *name = tag == DW_TAG_member ? dwarf_diename(&child) : NULL;
		struct die_type type;

		if (name && !strncmp(name, "_vptr", 5))
			return true;
		if ((tag == DW_TAG_subprogram || tag == DW_TAG_inheritance) &&
		    die_number(&child, DW_AT_virtuality))
			return true; /* a virtual base needs a vptr too */
		if (tag == DW_TAG_inheritance && die_reference(&child, DW_AT_type, &base) &&
		    resolve(units, &base, &type) && type.kind == DIE_CLASS &&
		    has_vptr(units, &type.die, depth + 1, steps))
			return true;
	} while (die_next(&child));
	return false;
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

			/* older compilers write an expression; that of a virtual base depends on
			 * the object */
			if (dwarf_getlocation(&attribute, &ops, &count) || count != 1 ||
			    ops[0].atom != DW_OP_plus_uconst)
				return false;
			bytes = ops[0].number;
		}
	} else if (die_flag(member, DW_AT_external) || die_flag(member, DW_AT_declaration)) {
		return false; /* a static member */
	}
	*bits = bytes * 8;
	/* DWARF 3's bit-fields count from the most significant bit of their storage */
	if (dwarf_attr(member, DW_AT_bit_offset, &attribute) &&
	    !dwarf_formudata(&attribute, &value)) {
		Dwarf_Die type;
		int storage = dwarf_bytesize(member), size = dwarf_bitsize(member);

		if (storage <= 0 && die_reference(member, DW_AT_type, &type)) {
			Dwarf_Word word;

			storage = dwarf_aggregate_size(&type, &word) ? 0 : (int)word;
		}
		if (storage <= 0 || size <= 0 || (int64_t)value + size > (int64_t)storage * 8)
			return false;
		*bits += (uint64_t)storage * 8 - value - (uint64_t)size;
	}
	return true;
}

/* Whether blocks of the class may be longer than it: its last member is an array of no, one or any
 * number of elements. */
static bool is_open_ended(Dwarf_Die *class, unsigned depth)
{
	Dwarf_Die child, final = { 0 }, type, range;
	uint64_t bits, highest = 0, elements;

	if (depth > NEST_MAX || dwarf_tag(class) == DW_TAG_union_type || dwarf_child(class, &child))
		return false;
	do
		if (dwarf_tag(&child) == DW_TAG_member && die_member_offset(&child, &bits) &&
		    (!final.addr || bits >= highest)) {
			final = child;
			highest = bits;
		}
	while (die_next(&child));
	if (!final.addr || !die_reference(&final, DW_AT_type, &type))
		return false;
	for (int hops = 0; hops < HOPS_MAX && (dwarf_tag(&type) == DW_TAG_typedef ||
					       dwarf_tag(&type) == DW_TAG_const_type);
	     hops++)
		if (!die_reference(&type, DW_AT_type, &type))
			return false;
	if (die_is_class(dwarf_tag(&type))) {
		die_reference(&type, DW_AT_signature, &type);
		return is_open_ended(&type, depth + 1);
	}
	if (dwarf_tag(&type) != DW_TAG_array_type)
		return false;
	if (dwarf_child(&type, &range) || dwarf_tag(&range) != DW_TAG_subrange_type)
		return true;
	return !die_subrange(&range, &elements) || elements <= 1;
}

/* Skips what is only another name or a qualifier. False: void, or a cycle. */
static bool peel(Dwarf_Die *die)
{
	for (int hops = 0; hops < HOPS_MAX; hops++) {
		int tag = dwarf_tag(die);

		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type &&
		    tag != DW_TAG_volatile_type)
			return true;
		if (!die_reference(die, DW_AT_type, die))
			return false;
	}
	return false;
}

/* sizeof(an) array: libdw's own doesn't go to type units. 0: unknown. */
static uint64_t array_bytes(struct debug_units *units, const Dwarf_Die *array)
{
	Dwarf_Die at = *array, child;
	uint64_t count = 1, elements;
	struct die_type element;

	for (int hops = 0; dwarf_tag(&at) == DW_TAG_array_type; hops++) {
		if (hops == NEST_MAX || dwarf_child(&at, &child))
			return 0;
		do
			if (dwarf_tag(&child) == DW_TAG_subrange_type &&
			    (!die_subrange(&child, &elements) ||
			     __builtin_mul_overflow(count, elements, &count)))
				return 0;
		while (die_next(&child));
		if (!die_reference(&at, DW_AT_type, &at) || !peel(&at))
			return 0;
	}
	return resolve(units, &at, &element) &&
			       !__builtin_mul_overflow(count, element.bytes, &count)
		       ? count
		       : 0;
}

/* All of die_type() but what takes a look at the members. */
static bool resolve(struct debug_units *units, Dwarf_Die *die, struct die_type *out)
{
	Dwarf_Die peeled = *die, alias = { 0 };
	Dwarf_Attribute attribute;
	Dwarf_Word bytes = 0;
	int tag;

	*out = (struct die_type){ .kind = DIE_VOID, .name = "void" };
	for (int hops = 0;; hops++) {
		if (hops == HOPS_MAX)
			return false;
		tag = dwarf_tag(&peeled);
		if (tag == DW_TAG_typedef || tag == DW_TAG_template_alias)
			alias = peeled;
		else if (tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
			 tag != DW_TAG_restrict_type && tag != DW_TAG_atomic_type &&
			 tag != DW_TAG_shared_type && tag != DW_TAG_immutable_type &&
			 tag != DW_TAG_packed_type)
			break;
		if (!dwarf_attr(&peeled, DW_AT_type, &attribute))
			return true; /* void */
		if (!dwarf_formref_die(&attribute, &peeled))
			return false;
	}
	out->die = peeled;
	switch (tag) {
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_interface_type: out->kind = DIE_CLASS; break;
	case DW_TAG_union_type: out->kind = DIE_UNION; break;
	case DW_TAG_enumeration_type: out->kind = DIE_ENUM; break;
	case DW_TAG_array_type: out->kind = DIE_ARRAY; break;
	case DW_TAG_subroutine_type: out->kind = DIE_FUNCTION; break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type: out->kind = DIE_POINTER; break;
	case DW_TAG_base_type:
	case DW_TAG_unspecified_type:
	case DW_TAG_ptr_to_member_type: /* it never points to a block */
		out->kind = DIE_BASE;
		break;
	default: return false;
	}
	/* typedef struct { … } name: the last typedef on the way gives the name */
	out->name = alias.addr && die_named_by_typedef(&peeled)
			    ? die_name(units, &alias)
			    : die_type_text(units, &peeled, false);
	if (!out->name)
		return false;
	if (out->kind == DIE_CLASS || out->kind == DIE_UNION || out->kind == DIE_ENUM)
		define(units, &out->die, out->name);
	if (out->kind == DIE_POINTER)
		out->bytes = 8;
	else if (tag == DW_TAG_ptr_to_member_type) {
		Dwarf_Die target;

		out->bytes = die_reference(&peeled, DW_AT_type, &target) &&
					     dwarf_tag(&target) == DW_TAG_subroutine_type
				     ? 16
				     : 8;
	} else if (out->kind == DIE_ARRAY && !dwarf_hasattr(&out->die, DW_AT_byte_size)) {
		out->bytes = array_bytes(units, &out->die);
	} else if (out->kind != DIE_FUNCTION && !dwarf_aggregate_size(&out->die, &bytes)) {
		out->bytes = bytes;
	}
	return true;
}

/*
 * Answers of die_type() by the address of the DIE's bytes, until the DWARF is closed: the same few
 * types are asked for at every instruction of a function, and to know whether a class has a vptr
 * takes a walk over its members and bases. Open addressing. Invariant: room is 0 or a power of two,
 * and at least twice the count.
 */
struct type_memo {
	struct type_entry {
		const void *die;
		struct die_type type;
		bool good;
	} *entries;
	size_t count, room;
};

void type_memo_free(struct type_memo *memo)
{
	if (memo)
		free(memo->entries);
	free(memo);
}

static struct type_entry *type_slot(const struct type_memo *memo, const void *die)
{
	for (size_t at = (size_t)((uintptr_t)die * 0x9e3779b97f4a7c15ull >> 30);; at++) {
		struct type_entry *entry = &memo->entries[at & (memo->room - 1)];

		if (!entry->die || entry->die == die)
			return entry;
	}
}

/* Without memory the answer will be made again. */
static void remember_type(struct debug_units *units, const void *die, const struct die_type *type,
			  bool good)
{
	struct type_memo *memo = units->type_memo;

	if (!memo)
		units->type_memo = memo = calloc(1, sizeof(*memo));
	if (!memo)
		return;
	if (memo->count * 2 >= memo->room) {
		struct type_memo larger = { .room = memo->room ? memo->room * 2 : 256,
					    .count = memo->count };

		larger.entries = calloc(larger.room, sizeof(*larger.entries));
		if (!larger.entries)
			return;
		for (size_t i = 0; i < memo->room; i++)
			if (memo->entries[i].die)
				*type_slot(&larger, memo->entries[i].die) = memo->entries[i];
		free(memo->entries);
		*memo = larger;
	}

	struct type_entry *entry = type_slot(memo, die);

	memo->count += !entry->die;
	*entry = (struct type_entry){ die, *type, good };
}

bool die_type(struct debug_units *units, Dwarf_Die *die, struct die_type *out)
{
	const struct type_entry *known = units->type_memo && units->type_memo->room
						 ? type_slot(units->type_memo, die->addr)
						 : NULL;
	const void *key = die->addr; /* `die` may be in `out` */
	unsigned steps = STEPS_MAX;
	bool good;

	if (known && known->die) {
		*out = known->type;
		return known->good;
	}
	good = resolve(units, die, out);
	if (good && out->kind == DIE_CLASS) {
		out->polymorphic = has_vptr(units, &out->die, 0, &steps);
		out->trailing_array = is_open_ended(&out->die, 0);
	}
	remember_type(units, key, out, good);
	return good;
}

bool die_type_of(struct debug_units *units, Dwarf_Die *die, struct die_type *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;

	*out = (struct die_type){ .kind = DIE_VOID, .name = "void" };
	if (!dwarf_attr_integrate(die, DW_AT_type, &attribute))
		return true;
	return dwarf_formref_die(&attribute, &type) && die_type(units, &type, out);
}

bool die_type_target(struct debug_units *units, const struct die_type *type, struct die_type *out)
{
	Dwarf_Die die = type->die;

	return (type->kind == DIE_POINTER || type->kind == DIE_ARRAY) &&
	       die_type_of(units, &die, out);
}

/* The type parameter number `*index` among the children; counts it down on the way. */
static bool find_argument(Dwarf_Die *die, unsigned *index, unsigned depth, Dwarf_Die *out)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_template_type_parameter && !(*index)--) {
			*out = child;
			return true;
		}
		if (tag == DW_TAG_GNU_template_parameter_pack && depth < NEST_MAX &&
		    find_argument(&child, index, depth + 1, out))
			return true;
	} while (die_next(&child));
	return false;
}

bool die_type_argument(struct debug_units *units, Dwarf_Die *die, unsigned index,
		       struct die_type *out)
{
	Dwarf_Die at = *die, parameter, next;

	if (die_is_class(dwarf_tag(&at))) {
		struct die_type whole;

		if (!die_type(units, &at, &whole))
			return false;
		at = whole.die;
	}
	for (int hops = 0; hops < DEBUG_HOPS_MAX; hops++) {
		unsigned rest = index;

		if (find_argument(&at, &rest, 0, &parameter))
			return die_type_of(units, &parameter, out);
		if (!die_reference(&at, DW_AT_abstract_origin, &next) &&
		    !die_reference(&at, DW_AT_specification, &next))
			return false;
		at = next;
	}
	return false;
}

static bool find_typedef(struct debug_units *units, Dwarf_Die *die, const char *member,
			 unsigned depth, unsigned *steps, struct die_type *out)
{
	struct die_type class;
	Dwarf_Die child, base;

	if (depth > NEST_MAX || !*steps || !resolve(units, die, &class) ||
	    class.kind != DIE_CLASS || dwarf_child(&class.die, &child))
		return false;
	--*steps;
	do {
		const char *name =
			dwarf_tag(&child) == DW_TAG_typedef ? dwarf_diename(&child) : NULL;

		if (name && !strcmp(name, member))
			return die_type_of(units, &child, out);
	} while (die_next(&child));
	if (dwarf_child(&class.die, &child))
		return false;
	do
		if (dwarf_tag(&child) == DW_TAG_inheritance &&
		    die_reference(&child, DW_AT_type, &base) &&
		    find_typedef(units, &base, member, depth + 1, steps, out))
			return true;
	while (die_next(&child));
	return false;
}

bool die_type_typedef(struct debug_units *units, Dwarf_Die *die, const char *member,
		      struct die_type *out)
{
	unsigned steps = STEPS_MAX;

	return find_typedef(units, die, member, 0, &steps, out);
}

bool die_type_class_of(struct debug_units *units, Dwarf_Die *function, struct die_type *out)
{
	Dwarf_Die declared = die_origin(function), class;
	struct debug_unit *unit =
		dwarf_tag(&declared) == DW_TAG_subprogram ? debug_unit_of(units, &declared) : NULL;
	uint32_t container = unit ? debug_unit_container(unit, &declared) : NO_SCOPE;

	return container != NO_SCOPE && die_is_class(unit->containers[container].tag) &&
	       debug_unit_container_die(unit, container, &class) && die_type(units, &class, out);
}

bool die_is_constructor(struct debug_units *units, Dwarf_Die *function, struct die_type *class)
{
	Dwarf_Die declared = die_origin(function);
	const char *name = dwarf_diename(&declared), *own;

	if (!name || !die_type_class_of(units, function, class))
		return false;
	own = dwarf_diename(&class->die);

	size_t length = die_bare_length(name);

	return own && length == die_bare_length(own) && !memcmp(name, own, length);
}

struct leading {
	struct debug_units *units;
	const char **out;
	size_t count, room;
	unsigned steps;
};

/* The bases and members of a class at offset 0, in turn. */
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
		     hops < NEST_MAX && peel(&at) && dwarf_tag(&at) == DW_TAG_array_type; hops++)
			if (!die_reference(&at, DW_AT_type, &at))
				break;
		if (!die_is_class(dwarf_tag(&at)) || !resolve(leading->units, &at, &type))
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

size_t die_type_leading(struct debug_units *units, const struct die_type *type, const char **out,
			size_t room)
{
	struct leading leading = { .units = units, .out = out, .room = room, .steps = STEPS_MAX };
	Dwarf_Die die = type->die;

	if ((type->kind == DIE_CLASS || type->kind == DIE_UNION) && room)
		lead(&leading, &die, 0);
	return leading.count;
}

bool die_type_member_at(struct debug_units *units, const struct die_type *type, uint64_t offset,
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

			if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
			    dwarf_hasattr(&child, DW_AT_bit_size) ||
			    (tag == DW_TAG_inheritance && die_number(&child, DW_AT_virtuality)) ||
			    !die_member_offset(&child, &bits) || bits / 8 > offset ||
			    !die_type_of(units, &child, &member))
				continue;

			/* a flexible array reaches to wherever the block ends */
			bool open = member.kind == DIE_ARRAY && class.trailing_array &&
				    bits / 8 + member.bytes >= class.bytes;

			if (offset - bits / 8 >= member.bytes && !open)
				continue;
			if (found)
				return false; /* two members hold the byte: an empty base takes one,
						 or it is a union in disguise */
			if (tag == DW_TAG_inheritance && member.bytes <= 1)
				continue;
			found = true;
			if (tag == DW_TAG_member) {
				const char *own = dwarf_diename(&child);

				*name = own ? names_text(units->names, own) : *name;
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

/* False: it can't be told. */
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
		int tag = dwarf_tag(&child);
		uint64_t bits;

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_hasattr(&child, DW_AT_bit_size) ||
		    (tag == DW_TAG_inheritance && die_number(&child, DW_AT_virtuality)) ||
		    !die_member_offset(&child, &bits) || bits / 8 > offset ||
		    !die_type_of(to->units, &child, &member) || offset - bits / 8 >= member.bytes)
			continue;
		if (!pointers_at(to, &member, offset - bits / 8, depth + 1))
			return false;
	} while (die_next(&child));
	return true;
}

size_t die_type_union_at(struct debug_units *units, const struct die_type *type, uint64_t offset,
			 struct die_type *out, size_t room)
{
	struct alternatives to = { .units = units, .out = out, .room = room, .steps = STEPS_MAX };

	return pointers_at(&to, type, offset, 0) ? to.count : 0;
}
