/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_name.c: see die_name.h.
 *
 * A class's name is the scopes around it and its own name. Template arguments are written from
 * their DIEs if these are complete: then it doesn't matter which compiler wrote DW_AT_name, or
 * whether -gsimple-template-names left them out. If they aren't (a pointer as an argument, a
 * declaration), the name is normalised as text. An unnamed type is named by its place in the
 * source: "main::{lambda at a.cc:12}", "{unnamed struct at a.c:7}". A class in a function follows
 * the function, as in the demangler: "f(int)::Local", "main::Local".
 *
 * Names of classes and names of types need each other, so they are in one file. A memo caches every
 * name: containers nest, and each needs the names of all its arguments.
 */
#include "die_name.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/hash.h"
#include "../../src/base/hash_table.h"
#include "../../src/base/mem.h"
#include "../elf/demangle.h"
#include "debug_lines.h"
#include "debug_unit.h"
#include "die.h"
#include "die_constants.h"
#include "die_normalize.h"
#include "plain_name.h"
#include "template_text.h"

#define DEPTH_MAX 48
#define ARGUMENTS_MAX 512
/* limit of types in one name */
#define STEPS_MAX 20000

#ifndef DW_TAG_GNU_template_template_param
#define DW_TAG_GNU_template_template_param 0x4106
#endif

struct name_entry {
	const void *die; /* the address of its bytes */
	const char *name;
};

/* Creates and caches the names of one file. */
struct namer {
	struct debug_units *units;
	struct names *names;
	VEC(struct name_entry) known;
	struct hash_table table; /* of known, by DIE */
	unsigned steps; /* limit of further types for this name: some contain themselves */
};

static void namer_free(void *kept)
{
	struct namer *namer = kept;

	free(namer->known.at);
	hash_table_deinit(&namer->table);
	free(namer);
}

/* Starts a new name. */
static struct namer *namer_of(struct debug_units *units)
{
	static const struct debug_slot slot = { .free = namer_free };
	struct namer **kept = (struct namer **)debug_units_slot(units, &slot);

	if (!*kept) {
		*kept = mem_zero(1, sizeof(**kept));
		(*kept)->units = units;
		(*kept)->names = debug_units_names(units);
	}
	(*kept)->steps = STEPS_MAX;
	return *kept;
}

static const char *known_name(const struct namer *namer, const void *die)
{
	uint32_t at = hash_table_find(&namer->table, hash_mix((uintptr_t)die), i,
				      namer->known.at[i].die == die);

	return at == HASH_NONE ? NULL : namer->known.at[at].name;
}

static void keep_name(struct namer *namer, const void *die, const char *name)
{
	hash_table_add(&namer->table, hash_mix((uintptr_t)die), (uint32_t)namer->known.count);
	*vec_push(&namer->known) = (struct name_entry){ die, name };
}

static bool write_type(struct namer *namer, Dwarf_Die *die, const char *declarator, bool written,
		       unsigned depth, struct name_text *out);
static const char *name_of(struct namer *namer, Dwarf_Die *die, unsigned depth);

/* Writes a value argument: "3", "true", "(Colour)1". False: DWARF doesn't have it. */
static bool write_value(struct namer *namer, Dwarf_Die *parameter, unsigned depth,
			struct name_text *out)
{
	struct name_text number = { 0 };
	const char *name = NULL;
	Dwarf_Die enumeration;
	bool good = die_constant_value(parameter, &number, &enumeration);

	if (good && enumeration.addr) {
		name = name_of(namer, &enumeration, depth + 1);
		good = name;
	}
	if (good && name) {
		name_text_put(out, "(");
		name_text_put(out, name);
		name_text_put(out, ")");
	}
	if (good)
		name_text_put(out, name_text_string(&number));
	name_text_free(&number);
	return good;
}

/* The arguments in DW_AT_name. */
struct template_arguments {
	const char *name;
	unsigned count; /* 0: there are none in brackets */
	bool preferred; /* the text wins over the DIEs of types */
};

/* Writes one template parameter's argument. False: the DIE doesn't have it. */
static bool write_argument(struct namer *namer, Dwarf_Die *parameter, unsigned depth,
			   struct name_text *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	const char *name;

	switch (dwarf_tag(parameter)) {
	case DW_TAG_template_type_parameter:
		if (!dwarf_hasattr(parameter, DW_AT_type))
			return write_type(namer, NULL, "", false, depth + 1, out);
		return die_reference(parameter, DW_AT_type, &type) &&
		       write_type(namer, &type, "", false, depth + 1, out);
	case DW_TAG_template_value_parameter: return write_value(namer, parameter, depth, out);
	}
	name = dwarf_attr(parameter, DW_AT_GNU_template_name, &attribute)
		       ? dwarf_formstring(&attribute)
		       : NULL;
	if (name)
		die_normalize_text(name, out);
	return name;
}

/* Writes "A, B"; `*any`: there was a parameter. False: neither the DIEs nor the text have all. */
static bool write_arguments(struct namer *namer, Dwarf_Die *die,
			    const struct template_arguments *arguments, unsigned depth,
			    struct name_text *out, unsigned *count, bool *any)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child))
		return true;
	do {
		int tag = dwarf_tag(&child);
		bool type = tag == DW_TAG_template_type_parameter;
		size_t before;

		if (tag == DW_TAG_GNU_template_parameter_pack) {
			*any = true;
			if (depth > DEPTH_MAX ||
			    !write_arguments(namer, &child, arguments, depth + 1, out, count, any))
				return false;
			continue;
		}
		if (!type && tag != DW_TAG_template_value_parameter &&
		    tag != DW_TAG_GNU_template_template_param)
			continue;
		*any = true;
		if ((*count)++)
			name_text_put(out, ", ");
		if (*count > ARGUMENTS_MAX)
			return false;
		before = out->used;
		if (type && arguments->preferred &&
		    template_text_write(arguments->name, *count - 1, out))
			continue;
		if (!write_argument(namer, &child, depth, out)) {
			name_text_cut(out, before);
			if (!template_text_write(arguments->name, *count - 1, out))
				return false;
		}
	} while (die_next(&child));
	return true;
}

/* Writes the name of a class, enumeration or typedef without its scopes. */
static void write_own(struct namer *namer, Dwarf_Die *die, const char *name, unsigned depth,
		      struct name_text *out)
{
	size_t before = out->used, bare;
	unsigned count = 0;
	bool any = false;
	Dwarf_Die whole;

	if (!name || *name == '<' || !*name) {
		plain_name_unnamed(namer->units, die, out);
		return;
	}
	/* gcc's type units lack scopes and qualifiers of types that arguments refer to; the text
	 * has them */
	if (die_is_class(dwarf_tag(die)) && dwarf_diecu(die, &whole, NULL, NULL)) {
		struct template_arguments arguments = {
			.name = name,
			.count = template_text_count(name),
			.preferred = dwarf_tag(&whole) == DW_TAG_type_unit,
		};

		bare = die_bare_length(name);
		name_text_add(out, name, bare);
		name_text_put(out, "<");
		/* gcc leaves some packs empty: then the text knows better */
		if (depth < DEPTH_MAX &&
		    write_arguments(namer, die, &arguments, depth + 1, out, &count, &any) && any &&
		    (!name[bare] || arguments.count == count ||
		     (!count && !strcmp(name + bare, "<>")))) {
			name_text_put(out, ">");
			return;
		}
		name_text_cut(out, before);
	}
	die_normalize_text(name, out);
}

/* Writes a function without a linkage name. gcc gives none to functions with internal linkage. */
static void write_plain_function(struct namer *namer, Dwarf_Die *function, unsigned depth,
				 struct name_text *out)
{
	const char *name = dwarf_diename(function) ? name_of(namer, function, depth + 1) : NULL;
	Dwarf_Die child, type;
	bool first = true;

	/* clang's type units lack the name */
	name_text_put(out, name ? name : "{unnamed function}");
	if (!name || die_flag(function, DW_AT_external) || dwarf_child(function, &child))
		return;
	name_text_put(out, "(");
	do {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter ||
		    die_flag(&child, DW_AT_artificial))
			continue;
		name_text_put(out, first ? "" : ", ");
		first = false;
		if (die_reference(&child, DW_AT_type, &type))
			write_type(namer, &type, "", false, depth + 1, out);
	} while (die_next(&child));
	name_text_put(out, ")");
}

/* Writes the function as the demangler does before "::Local" of a class in it. */
static void write_function(struct namer *namer, Dwarf_Die *function, unsigned depth,
			   struct name_text *out)
{
	static const char mark[] = "typeinfo for ";
	Dwarf_Die origin = die_origin(function);
	Dwarf_Attribute attribute;
	const char *linkage = dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute)
				      ? dwarf_formstring(&attribute)
				      : NULL;
	char *mangled = NULL, *plain = NULL;

	if (linkage && !strncmp(linkage, "_Z", 2)) {
		mangled = mem_format("_ZTIZ%sE1x", linkage + 2);
		plain = demangle_symbol(mangled);
	}
	if (plain && !strncmp(plain, mark, sizeof(mark) - 1) && strlen(plain) > sizeof(mark) + 2) {
		plain[strlen(plain) - 3] = 0; /* "::x" */
		die_normalize_text(plain + sizeof(mark) - 1, out);
	} else {
		write_plain_function(namer, &origin, depth, out);
	}
	free(mangled);
	free(plain);
}

/* Writes "a::b::" for the contents of the container. */
static void write_scope(struct namer *namer, struct debug_unit *unit, uint32_t container,
			unsigned depth, struct name_text *out)
{
	Dwarf_Die die;
	const char *name;

	if (container == NO_SCOPE || depth > DEPTH_MAX ||
	    !debug_unit_container_die(unit, container, &die))
		return;
	if (unit->containers.at[container].tag == DW_TAG_subprogram) {
		write_function(namer, &die, depth + 1, out);
	} else {
		name = name_of(namer, &die, depth + 1);
		name_text_put(out, name ? name : "");
	}
	name_text_put(out, "::");
}

/* Returns the name with its scopes of a class, enumeration, typedef, namespace or function,
 * interned. NULL: too deep, or too many steps. */
static const char *name_of(struct namer *namer, Dwarf_Die *die, unsigned depth)
{
	const char *result = known_name(namer, die->addr), *name;
	struct name_text text = { 0 };
	Dwarf_Die declared = die_origin(die), defined;
	struct debug_unit *unit;
	int tag = dwarf_tag(die);
	bool ada;

	if (result)
		return result;
	if (depth > DEPTH_MAX || !namer->steps)
		return NULL;
	namer->steps--;
	name = dwarf_diename(&declared);
	/* a stub of a class whose content is in a type unit */
	if (!name && die_reference(&declared, DW_AT_signature, &defined))
		return defined.addr == die->addr ? NULL : name_of(namer, &defined, depth + 1);
	unit = debug_units_of(namer->units, &declared);
	if (!unit)
		return NULL;
	ada = name && die_is_ada(&declared); /* an Ada name includes its scopes */
	if (!ada)
		write_scope(namer, unit, debug_unit_container(unit, &declared), depth, &text);
	if (ada)
		name_text_put(&text, plain_name_ada(namer->units, &declared, name));
	else if (tag == DW_TAG_namespace)
		name_text_put(&text, name ? name : "(anonymous namespace)");
	else
		write_own(namer, die, name ? name : dwarf_diename(die), depth, &text);
	result = names_text(namer->names, name_text_string(&text));
	name_text_free(&text);
	/* a cycle may have cached the name meanwhile */
	if (!known_name(namer, die->addr))
		keep_name(namer, die->addr, result);
	return result;
}

const char *die_name(struct debug_units *units, Dwarf_Die *die)
{
	return name_of(namer_of(units), die, 0);
}

/* Writes "(int, char const*)" of a function type; const follows for a const member function. */
static bool write_parameters(struct namer *namer, Dwarf_Die *function, bool written, unsigned depth,
			     struct name_text *out)
{
	Dwarf_Die child, type;
	bool first = true, is_const = false;

	name_text_put(out, "(");
	if (!dwarf_child(function, &child))
		do {
			int tag = dwarf_tag(&child);

			if (tag != DW_TAG_formal_parameter && tag != DW_TAG_unspecified_parameters)
				continue;
			if (tag == DW_TAG_formal_parameter && first &&
			    die_flag(&child, DW_AT_artificial)) {
				/* `this`: a const member function's points to a const class */
				is_const = die_reference(&child, DW_AT_type, &type) &&
					   die_reference(&type, DW_AT_type, &type) &&
					   dwarf_tag(&type) == DW_TAG_const_type;
				continue;
			}
			name_text_put(out, first ? "" : ", ");
			first = false;
			if (tag == DW_TAG_unspecified_parameters)
				name_text_put(out, "...");
			else if (!die_reference(&child, DW_AT_type, &type) ||
				 !write_type(namer, &type, "", written, depth + 1, out))
				return false;
		} while (die_next(&child));
	name_text_put(out, is_const ? ") const" : ")");
	return true;
}

static bool in_class(struct namer *namer, Dwarf_Die *die)
{
	const struct debug_unit *unit = debug_units_of(namer->units, die);
	uint32_t container = unit ? debug_unit_container(unit, die) : NO_SCOPE;

	return container != NO_SCOPE && die_is_class(unit->containers.at[container].tag);
}

/* Writes the target of a pointer, array and so on (void if DWARF has none), with `declarator` in
 * it. */
static bool write_target(struct namer *namer, Dwarf_Die *die, const char *declarator, bool written,
			 unsigned depth, struct name_text *out)
{
	Dwarf_Die target;

	return write_type(namer, die_reference(die, DW_AT_type, &target) ? &target : NULL,
			  declarator, written, depth + 1, out);
}

static int target_tag(Dwarf_Die *die)
{
	Dwarf_Die target;

	return die_reference(die, DW_AT_type, &target) ? dwarf_tag(&target) : 0;
}

/* Writes "int *", "int (*)(char)", "int (&)[3]". */
static bool write_pointer(struct namer *namer, Dwarf_Die *die, const char *declarator, bool written,
			  unsigned depth, struct name_text *out)
{
	int tag = dwarf_tag(die), behind = target_tag(die);
	const char *mark = tag == DW_TAG_pointer_type	  ? "*"
			   : tag == DW_TAG_reference_type ? "&"
							  : "&&";
	bool grouped = behind == DW_TAG_subroutine_type || behind == DW_TAG_array_type, good;
	char *inner = mem_format(grouped ? "(%s%s)" : "%s%s", mark, declarator);

	good = write_target(namer, die, inner, written, depth, out);
	free(inner);
	return good;
}

/* Writes "int A::*", "void (A::*)(int)". */
static bool write_member_pointer(struct namer *namer, Dwarf_Die *die, const char *declarator,
				 bool written, unsigned depth, struct name_text *out)
{
	int behind = target_tag(die);
	Dwarf_Die class;
	const char *of = die_reference(die, DW_AT_containing_type, &class)
				 ? name_of(namer, &class, depth + 1)
				 : NULL;
	char *inner;
	bool good;

	if (!of || !behind)
		return false;
	inner = mem_format(behind == DW_TAG_subroutine_type ? "(%s::*%s)" : " %s::*%s", of,
			   declarator);
	good = write_target(namer, die, inner, written, depth, out);
	free(inner);
	return good;
}

/* Writes "const A", but "A* const". */
static bool write_qualified(struct namer *namer, Dwarf_Die *die, const char *declarator,
			    bool written, unsigned depth, struct name_text *out)
{
	bool is_const = dwarf_tag(die) == DW_TAG_const_type, known, good;
	const char *word = is_const ? "const" : "volatile";
	Dwarf_Die target = { 0 }, pointed;
	int behind;

	known = die_reference(die, DW_AT_type, &target);
	/* "const volatile", in both orders */
	if (known && dwarf_tag(&target) == (is_const ? DW_TAG_volatile_type : DW_TAG_const_type)) {
		known = die_reference(&target, DW_AT_type, &target);
		word = "const volatile";
	}
	pointed = target;
	if (known && !written && !die_peel_typedefs(&pointed))
		known = false;
	behind = known ? dwarf_tag(&pointed) : 0;
	if (behind == DW_TAG_pointer_type || behind == DW_TAG_reference_type ||
	    behind == DW_TAG_rvalue_reference_type || behind == DW_TAG_ptr_to_member_type) {
		char *inner = mem_format(" %s%s", word, declarator);

		good = write_type(namer, &pointed, inner, written, depth + 1, out);
		free(inner);
		return good;
	}
	name_text_put(out, word);
	name_text_put(out, " ");
	return write_type(namer, known ? &target : NULL, declarator, written, depth + 1, out);
}

/* Writes "int [3]", "int (char)": types with a part after the declarator. */
static bool write_behind(struct namer *namer, Dwarf_Die *die, const char *declarator, bool written,
			 unsigned depth, struct name_text *out)
{
	struct name_text rest = { 0 };
	bool good = true;

	name_text_put(&rest, declarator);
	if (dwarf_tag(die) == DW_TAG_array_type)
		die_constant_bounds(die, &rest);
	else
		good = write_parameters(namer, die, written, depth + 1, &rest);
	good = good && write_target(namer, die, name_text_string(&rest), written, depth, out);
	name_text_free(&rest);
	return good;
}

/* Writes a type with a name of its own. */
static bool write_named(struct namer *namer, Dwarf_Die *die, const char *declarator, unsigned depth,
			struct name_text *out)
{
	int tag = dwarf_tag(die);
	const char *name;

	if (tag == DW_TAG_base_type || tag == DW_TAG_unspecified_type) {
		name = dwarf_diename(die);
		die_normalize_text(name ? name : "{unnamed}", out);
	} else if (tag == DW_TAG_string_type) {
		plain_name_string(die, out);
	} else {
		name = name_of(namer, die, depth + 1);
		if (!name)
			return false;
		name_text_put(out, name);
	}
	name_text_put(out, declarator);
	return true;
}

/* True if the typedef's own name is written: it names an unnamed type, or `written` wants it; the
 * pointer and size_type of a container say less than their targets. */
static bool keeps_typedef(struct namer *namer, Dwarf_Die *die, bool written)
{
	Dwarf_Die named = *die;

	return (written && !in_class(namer, die)) ||
	       (die_peel_typedefs(&named) && die_named_by_typedef(&named));
}

/* Writes the type with a declarator in it, as in C: "int", "(*)(void)" … `die` NULL: void. False:
 * absurd DWARF. */
static bool write_type(struct namer *namer, Dwarf_Die *die, const char *declarator, bool written,
		       unsigned depth, struct name_text *out)
{
	if (depth > DEPTH_MAX || !namer->steps)
		return false;
	namer->steps--;
	if (!die) {
		name_text_put(out, "void");
		name_text_put(out, declarator);
		return true;
	}
	switch (dwarf_tag(die)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return write_pointer(namer, die, declarator, written, depth, out);
	case DW_TAG_ptr_to_member_type:
		return write_member_pointer(namer, die, declarator, written, depth, out);
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
		return write_qualified(namer, die, declarator, written, depth, out);
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_shared_type:
	case DW_TAG_immutable_type:
	case DW_TAG_packed_type: return write_target(namer, die, declarator, written, depth, out);
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
		return keeps_typedef(namer, die, written)
			       ? write_named(namer, die, declarator, depth, out)
			       : write_target(namer, die, declarator, written, depth, out);
	case DW_TAG_array_type:
	case DW_TAG_subroutine_type:
		return write_behind(namer, die, declarator, written, depth, out);
	case DW_TAG_base_type:
	case DW_TAG_string_type:
	case DW_TAG_unspecified_type:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type: return write_named(namer, die, declarator, depth, out);
	default: return false;
	}
}

const char *die_type_text(struct debug_units *units, Dwarf_Die *die, bool written)
{
	struct namer *namer = namer_of(units);
	struct name_text text = { 0 };
	const char *result = NULL;

	if (write_type(namer, die, "", written, 0, &text))
		result = names_text(namer->names, name_text_string(&text));
	name_text_free(&text);
	return result;
}
