/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_type.c: see die_type.h. Every chain of references ends after DIE_PEEL_MAX steps, because
 * DWARF may have cycles.
 */
#include "die_type.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/hash.h"
#include "../../src/base/hash_table.h"
#include "../../src/base/mem.h"
#include "debug_definitions.h"
#include "debug_unit.h"
#include "die.h"
#include "die_name.h"
#include "die_normalize.h"

#define NEST_MAX 24
#define STEPS_MAX 4096 /* limit of classes examined per call */

/* Replaces a declaration by its definition: in a type unit, or anywhere by the name. */
static void define(struct debug_units *units, Dwarf_Die *die, const char *name)
{
	Dwarf_Die defined;

	if (die_reference(die, DW_AT_signature, &defined) &&
	    die_is_class(dwarf_tag(&defined)) == die_is_class(dwarf_tag(die)))
		*die = defined;
	if (die_flag(die, DW_AT_declaration) && name && *name &&
	    debug_definitions_class(units, name, die, &defined))
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
		/* a tagged type of Ada's, or one that extends it */
		if (name && !strcmp(name, "_tag") && die_is_ada(class))
			return true;
		if (name && !strcmp(name, "_parent") && die_is_ada(class) &&
		    die_reference(&child, DW_AT_type, &base) && resolve(units, &base, &type) &&
		    type.kind == DIE_CLASS && has_vptr(units, &type.die, depth + 1, steps))
			return true;
		if ((tag == DW_TAG_subprogram || tag == DW_TAG_inheritance) &&
		    die_number(&child, DW_AT_virtuality))
			return true; /* a virtual base needs a vptr, too */
		if (tag == DW_TAG_inheritance && die_reference(&child, DW_AT_type, &base) &&
		    resolve(units, &base, &type) && type.kind == DIE_CLASS &&
		    has_vptr(units, &type.die, depth + 1, steps))
			return true;
	} while (die_next(&child));
	return false;
}

/* True if blocks of the class may be longer than it: its last member is an array of no, one or any
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
	for (int hops = 0; hops < DIE_PEEL_MAX && (dwarf_tag(&type) == DW_TAG_typedef ||
						   dwarf_tag(&type) == DW_TAG_const_type);
	     hops++)
		if (!die_reference(&type, DW_AT_type, &type))
			return false;
	if (die_is_class(dwarf_tag(&type))) {
		die_reference(&type, DW_AT_signature, &type);
		return is_open_ended(&type, depth + 1);
	}
	if (dwarf_tag(&type) != DW_TAG_array_type || die_descriptor(&type))
		return false;
	if (dwarf_child(&type, &range) || dwarf_tag(&range) != DW_TAG_subrange_type)
		return true;
	return !die_subrange(&range, &elements) || elements <= 1;
}

/* True for an Ada record with parts whose length depends on its discriminants. */
static bool size_varies(Dwarf_Die *class)
{
	Dwarf_Attribute attribute;
	Dwarf_Word bytes;

	return dwarf_attr(class, DW_AT_byte_size, &attribute) &&
	       dwarf_formudata(&attribute, &bytes);
}

/* Returns the bytes before the variable part; at least 1. */
static uint64_t fixed_bytes(Dwarf_Die *class)
{
	Dwarf_Die child, type;
	uint64_t bits, most = 1;

	if (!dwarf_child(class, &child))
		do {
			Dwarf_Word bytes = 0;

			if (dwarf_tag(&child) == DW_TAG_member &&
			    die_member_offset(&child, &bits) &&
			    die_reference(&child, DW_AT_type, &type)) {
				dwarf_aggregate_size(&type, &bytes);
				most = bits / 8 + bytes > most ? bits / 8 + bytes : most;
			}
		} while (die_next(&child));
	return most;
}

/* Returns sizeof(an array); libdw's own function doesn't follow type units. 0: unknown. */
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
		if (!die_reference(&at, DW_AT_type, &at) || !die_peel(&at))
			return 0;
	}
	return resolve(units, &at, &element) &&
			       !__builtin_mul_overflow(count, element.bytes, &count)
		       ? count
		       : 0;
}

/* Does the part of die_type() that needs no walk over the members. */
static bool resolve(struct debug_units *units, Dwarf_Die *die, struct die_type *out)
{
	Dwarf_Die peeled = *die, alias = { 0 };
	Dwarf_Attribute attribute;
	Dwarf_Word bytes = 0;
	int tag;

	*out = (struct die_type){ .kind = DIE_VOID, .name = "void" };
	for (int hops = 0;; hops++) {
		if (hops == DIE_PEEL_MAX)
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
	case DW_TAG_array_type:
		out->kind = die_descriptor(&peeled) ? DIE_POINTER : DIE_ARRAY;
		out->by_address = die_descriptor(&peeled) > 1;
		break;
	case DW_TAG_subroutine_type: out->kind = DIE_FUNCTION; break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type: out->kind = DIE_POINTER; break;
	case DW_TAG_base_type:
	case DW_TAG_string_type:
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
	else if (tag == DW_TAG_string_type) {
		uint64_t unit;

		/* one of any length counts as an array of characters */
		if (!die_string(&peeled, &out->bytes, &unit))
			out->bytes = unit;
	} else if (tag == DW_TAG_ptr_to_member_type) {
		Dwarf_Die target;

		out->bytes = die_reference(&peeled, DW_AT_type, &target) &&
					     dwarf_tag(&target) == DW_TAG_subroutine_type
				     ? 16
				     : 8;
	} else if (out->kind == DIE_ARRAY && !dwarf_hasattr(&out->die, DW_AT_byte_size)) {
		out->bytes = array_bytes(units, &out->die);
	} else if (out->kind == DIE_CLASS && size_varies(&out->die)) {
		out->bytes = fixed_bytes(&out->die);
	} else if (out->kind != DIE_FUNCTION && !dwarf_aggregate_size(&out->die, &bytes)) {
		out->bytes = bytes;
	}
	return true;
}

struct type_entry {
	const void *die;
	struct die_type type;
	bool good;
};

/*
 * Cached results of die_type() by the address of the DIE's bytes, until the DWARF is closed: the
 * rules need the same few types at every instruction of a function, and finding a class's vptr
 * takes a walk over its members and bases.
 */
struct type_memo {
	VEC(struct type_entry) entries;
	struct hash_table table; /* by DIE */
};

static void type_memo_free(void *kept)
{
	struct type_memo *memo = kept;

	free(memo->entries.at);
	hash_table_deinit(&memo->table);
	free(memo);
}

static struct type_memo *type_memo_of(struct debug_units *units)
{
	static const struct debug_slot slot = { .free = type_memo_free };
	struct type_memo **kept = (struct type_memo **)debug_units_slot(units, &slot);

	if (!*kept)
		*kept = mem_zero(1, sizeof(**kept));
	return *kept;
}

bool die_type(struct debug_units *units, Dwarf_Die *die, struct die_type *out)
{
	struct type_memo *memo = type_memo_of(units);
	const void *key = die->addr; /* `die` may be in `out` */
	uint64_t hash = hash_mix((uintptr_t)key);
	uint32_t known = hash_table_find(&memo->table, hash, i, memo->entries.at[i].die == key);
	unsigned steps = STEPS_MAX;
	bool good;

	if (known != HASH_NONE) {
		*out = memo->entries.at[known].type;
		return memo->entries.at[known].good;
	}
	good = resolve(units, die, out);
	if (good && out->kind == DIE_CLASS) {
		out->polymorphic = has_vptr(units, &out->die, 0, &steps);
		out->trailing_array = size_varies(&out->die) || is_open_ended(&out->die, 0);
	}
	hash_table_add(&memo->table, hash, (uint32_t)memo->entries.count);
	*vec_push(&memo->entries) = (struct type_entry){ key, *out, good };
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

	if (type->by_address) {
		*out = *type;
		out->by_address = false;
		return true;
	}
	return (type->kind == DIE_POINTER || type->kind == DIE_ARRAY) &&
	       die_type_of(units, &die, out);
}

/* Finds the type parameter number `*index` among the children, counting `*index` down. */
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
	for (int hops = 0; hops < DIE_HOPS_MAX; hops++) {
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
		dwarf_tag(&declared) == DW_TAG_subprogram ? debug_units_of(units, &declared) : NULL;
	uint32_t container = unit ? debug_unit_container(unit, &declared) : NO_SCOPE;

	return container != NO_SCOPE && die_is_class(unit->containers.at[container].tag) &&
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
