/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_name.c: names of types and functions, from their DIEs.
 *
 * A class is named by the scopes around it and its own name. Template arguments come from their
 * DIEs where these say all of them, so that it doesn't matter which compiler wrote DW_AT_name, or
 * that -gsimple-template-names left them out; where they don't (a pointer as an argument, a
 * declaration) the name is normalised as text (die_normalize.c). What has no name gets one from its
 * place in the source: "main::{lambda at a.cc:12}", "{unnamed struct at a.c:7}".
 *
 * A class in a function stands behind the function as the demangler has it: "f(int)::Local",
 * "main::Local".
 *
 * Names are kept by the address of their DIE until the DWARF is closed: containers nest, and each
 * asks for the names of all its arguments.
 */
#define _GNU_SOURCE

#include "die_name.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../elf/demangle.h"
#include "debug_unit.h"

#define DEPTH_MAX 48
#define ARGUMENTS_MAX 512
/* types that one name may be made of, before what is known is taken from the memo */
#define STEPS_MAX 20000

#ifndef DW_TAG_GNU_template_template_param
#define DW_TAG_GNU_template_template_param 0x4106
#endif

/* Open addressing by the address of a DIE's bytes. Invariant: room is 0 or a power of two, and at
 * least twice the count. */
struct die_memo {
	struct memo_entry {
		const void *die;
		const char *name;
	} *entries;
	size_t count, room;
};

void die_memo_free(struct die_memo *memo)
{
	if (memo)
		free(memo->entries);
	free(memo);
}

static struct memo_entry *memo_slot(const struct die_memo *memo, const void *die)
{
	for (size_t at = (size_t)((uintptr_t)die * 0x9e3779b97f4a7c15ull >> 30);; at++) {
		struct memo_entry *entry = &memo->entries[at & (memo->room - 1)];

		if (!entry->die || entry->die == die)
			return entry;
	}
}

static const char *memo_get(const struct die_memo *memo, const void *die)
{
	return memo && memo->room ? memo_slot(memo, die)->name : NULL;
}

/* Without memory the name will be made again. */
static void memo_add(struct debug_units *units, const void *die, const char *name)
{
	if (!units->memo)
		units->memo = calloc(1, sizeof(*units->memo));
	if (!units->memo)
		return;
	if (units->memo->count * 2 >= units->memo->room) {
		struct die_memo larger = { .room = units->memo->room ? units->memo->room * 2 : 256,
					   .count = units->memo->count };

		larger.entries = calloc(larger.room, sizeof(*larger.entries));
		if (!larger.entries)
			return;
		for (size_t i = 0; i < units->memo->room; i++)
			if (units->memo->entries[i].die)
				*memo_slot(&larger, units->memo->entries[i].die) =
					units->memo->entries[i];
		free(units->memo->entries);
		*units->memo = larger;
	}

	struct memo_entry *entry = memo_slot(units->memo, die);

	units->memo->count += !entry->die;
	*entry = (struct memo_entry){ die, name };
}

bool die_reference(Dwarf_Die *die, unsigned attribute_name, Dwarf_Die *out)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, attribute_name, &attribute) && dwarf_formref_die(&attribute, out);
}

bool die_is_class(int tag)
{
	return tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_interface_type;
}

size_t die_bare_length(const char *name)
{
	const char *at = name;

	if (!strncmp(name, "operator", 8)) {
		if (name[8] == ' ')
			return strlen(name); /* to a type; new, delete */
		at += 8 + die_operator_length(name + 8);
	}
	at = *at ? strchr(at, '<') : NULL;
	while (at && at > name && at[-1] == ' ')
		at--;
	return at && at != name ? (size_t)(at - name) : strlen(name);
}

static bool write_type(struct debug_units *units, Dwarf_Die *die, const char *declarator,
		       bool written, unsigned depth, struct name_text *out);
static const char *name_of(struct debug_units *units, Dwarf_Die *die, unsigned depth);

/* Skips typedefs, and goes to the type unit of what is only declared here. False: void, or a
 * cycle. */
static bool peel_typedefs(Dwarf_Die *die)
{
	for (int hops = 0; hops < 64; hops++) {
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

/* A value argument: number, truth value or enumerator. False: DWARF has no number, or not of such a
 * type. */
static bool write_value(struct debug_units *units, Dwarf_Die *parameter, unsigned depth,
			struct name_text *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type, base;
	Dwarf_Word encoding = 0, bytes = 8;
	Dwarf_Sword value;
	char number[80];
	const char *name = NULL;

	if (!die_reference(parameter, DW_AT_type, &type) || !peel_typedefs(&type))
		return false;
	for (int hops = 0; hops < 8 && (dwarf_tag(&type) == DW_TAG_const_type ||
					dwarf_tag(&type) == DW_TAG_volatile_type);
	     hops++)
		if (!die_reference(&type, DW_AT_type, &type) || !peel_typedefs(&type))
			return false;
	base = type;
	if (dwarf_tag(&type) == DW_TAG_enumeration_type) {
		name = name_of(units, &type, depth + 1);
		if (!name)
			return false;
		if (die_reference(&type, DW_AT_type, &base) && !peel_typedefs(&base))
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
		snprintf(number, sizeof(number), "%s", value ? "true" : "false");
	else if (is_signed)
		snprintf(number, sizeof(number), "%lld",
			 (long long)((int64_t)((uint64_t)value << bits) >> bits));
	else if (encoding == DW_ATE_unsigned || encoding == DW_ATE_unsigned_char ||
		 encoding == DW_ATE_UTF || name)
		snprintf(number, sizeof(number), "%llu",
			 (unsigned long long)((uint64_t)value << bits >> bits));
	else
		return false;
	if (name) {
		text_put(out, "(");
		text_put(out, name);
		text_put(out, ")");
	}
	text_put(out, number);
	return true;
}

/* The arguments as DW_AT_name has them. */
struct template_text {
	const char *name;
	unsigned count; /* 0: it has none in brackets */
	bool preferred; /* where both say a type, the text is right */
};

/* The text of argument number `index`, which ends at `*end`; NULL: there is none. With index
 * UINT_MAX it counts them. */
static const char *argument_text(const char *name, unsigned index, const char **end,
				 unsigned *count)
{
	const char *at = name + die_bare_length(name), *start;
	int depth = 0;

	*count = 0;
	if (!*at)
		return NULL;
	for (start = at + 1; *at; at++) {
		if (*at == '\'' && at[1] && at[2] == '\'') { /* ',' */
			at += 2;
			continue;
		}
		depth += strchr("<({[", *at) ? 1 : strchr(">)}]", *at) ? -1 : 0;
		if ((*at == ',' && depth == 1) || !depth) {
			*end = at;
			if ((*count)++ == index)
				return start;
			start = at + 1;
			if (!depth)
				break;
		}
	}
	return NULL;
}

static bool write_argument_text(const struct template_text *arguments, unsigned index,
				struct name_text *out)
{
	const char *end, *start;
	unsigned count;
	char *copy;

	start = arguments->count ? argument_text(arguments->name, index, &end, &count) : NULL;
	copy = start ? strndup(start, (size_t)(end - start)) : NULL;
	if (!copy)
		return false;
	die_normalize_text(copy, out);
	free(copy);
	return true;
}

/* One template parameter. False: the DIE doesn't say what it stands for. */
static bool write_argument(struct debug_units *units, Dwarf_Die *parameter, unsigned depth,
			   struct name_text *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	const char *name;

	switch (dwarf_tag(parameter)) {
	case DW_TAG_template_type_parameter:
		if (!dwarf_hasattr(parameter, DW_AT_type))
			return write_type(units, NULL, "", false, depth + 1, out);
		return die_reference(parameter, DW_AT_type, &type) &&
		       write_type(units, &type, "", false, depth + 1, out);
	case DW_TAG_template_value_parameter: return write_value(units, parameter, depth, out);
	}
	name = dwarf_attr(parameter, DW_AT_GNU_template_name, &attribute)
		       ? dwarf_formstring(&attribute)
		       : NULL;
	if (name)
		die_normalize_text(name, out);
	return name;
}

/* Writes "A, B"; `*any`: there was a parameter. False: neither the DIEs nor the text say all. */
static bool write_arguments(struct debug_units *units, Dwarf_Die *die,
			    const struct template_text *arguments, unsigned depth,
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
			    !write_arguments(units, &child, arguments, depth + 1, out, count, any))
				return false;
			continue;
		}
		if (!type && tag != DW_TAG_template_value_parameter &&
		    tag != DW_TAG_GNU_template_template_param)
			continue;
		*any = true;
		if ((*count)++)
			text_put(out, ", ");
		if (*count > ARGUMENTS_MAX)
			return false;
		before = out->used;
		if (type && arguments->preferred && write_argument_text(arguments, *count - 1, out))
			continue;
		if (!write_argument(units, &child, depth, out)) {
			out->used = before;
			if (!write_argument_text(arguments, *count - 1, out))
				return false;
		}
	} while (die_next(&child));
	return true;
}

/*
 * A lambda has no name. It has an operator() or, where that is never called, gcc declares its
 * constructor "<lambda>" and clang leaves an empty "class", which nobody writes by hand.
 */
static bool is_lambda(Dwarf_Die *die)
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
	       !is_lambda(die);
}

/* "{lambda at a.cc:12}" */
static void write_unnamed(struct debug_units *units, Dwarf_Die *die, struct name_text *out)
{
	const char *file = dwarf_hasattr(die, DW_AT_decl_file)
				   ? debug_unit_file(units, die, die_number(die, DW_AT_decl_file))
				   : NULL;
	const char *slash = file ? strrchr(file, '/') : NULL;
	int line = 0, tag = dwarf_tag(die);
	char number[24];

	text_put(out, is_lambda(die)		       ? "{lambda"
		      : tag == DW_TAG_enumeration_type ? "{unnamed enum"
		      : tag == DW_TAG_union_type       ? "{unnamed union"
		      : tag == DW_TAG_class_type       ? "{unnamed class"
						       : "{unnamed struct");
	if (file && !dwarf_decl_line(die, &line) && line > 0) {
		text_put(out, " at ");
		text_put(out, slash ? slash + 1 : file);
		snprintf(number, sizeof(number), ":%d", line);
		text_put(out, number);
	}
	text_put(out, "}");
}

/* The name of a class, enumeration or typedef without its scopes. */
static void write_own(struct debug_units *units, Dwarf_Die *die, const char *name, unsigned depth,
		      struct name_text *out)
{
	int tag = dwarf_tag(die);
	size_t before = out->used, bare;
	unsigned count = 0;
	bool any = false;
	Dwarf_Die whole;

	if (!name || *name == '<' || !*name) {
		write_unnamed(units, die, out);
		return;
	}
	/* in its type units gcc loses scopes and qualifiers of what arguments refer to, not in the
	 * text */
	if (die_is_class(tag) && dwarf_diecu(die, &whole, NULL, NULL)) {
		struct template_text arguments = { .name = name,
						   .preferred =
							   dwarf_tag(&whole) == DW_TAG_type_unit };
		const char *end;

		bare = die_bare_length(name);
		argument_text(name, UINT32_MAX, &end, &arguments.count);
		text_add(out, name, bare);
		text_put(out, "<");
		/* gcc leaves some packs empty: then the text knows better */
		if (depth < DEPTH_MAX &&
		    write_arguments(units, die, &arguments, depth + 1, out, &count, &any) && any &&
		    (!name[bare] || arguments.count == count ||
		     (!count && !strcmp(name + bare, "<>")))) {
			text_put(out, ">");
			return;
		}
		out->used = before;
		if (out->at)
			out->at[before] = 0;
	}
	die_normalize_text(name, out);
}

/* What the demangler puts in front of "::Local" for a class in the function. */
static void write_function(struct debug_units *units, Dwarf_Die *function, unsigned depth,
			   struct name_text *out)
{
	static const char mark[] = "typeinfo for ";
	Dwarf_Die origin = die_origin(function), child, type;
	Dwarf_Attribute attribute;
	const char *linkage = dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute)
				      ? dwarf_formstring(&attribute)
				      : NULL;
	char *mangled = NULL, *plain = NULL;
	const char *name;
	bool first = true;

	if (linkage && !strncmp(linkage, "_Z", 2) &&
	    asprintf(&mangled, "_ZTIZ%sE1x", linkage + 2) >= 0)
		plain = demangle_symbol(mangled);
	if (plain && !strncmp(plain, mark, sizeof(mark) - 1) && strlen(plain) > sizeof(mark) + 2) {
		plain[strlen(plain) - 3] = 0; /* "::x" */
		die_normalize_text(plain + sizeof(mark) - 1, out);
	} else {
		name = dwarf_diename(&origin) ? name_of(units, &origin, depth + 1) : NULL;
		/* clang's type units leave it out */
		text_put(out, name ? name : "{unnamed function}");
		if (name && !die_flag(&origin, DW_AT_external) && !dwarf_child(&origin, &child)) {
			/* gcc gives functions with internal linkage no linkage name */
			text_put(out, "(");
			do {
				if (dwarf_tag(&child) != DW_TAG_formal_parameter ||
				    die_flag(&child, DW_AT_artificial))
					continue;
				text_put(out, first ? "" : ", ");
				first = false;
				if (die_reference(&child, DW_AT_type, &type))
					write_type(units, &type, "", false, depth + 1, out);
			} while (die_next(&child));
			text_put(out, ")");
		}
	}
	free(mangled);
	free(plain);
}

/* "a::b::" in front of what is in the container. */
static void write_scope(struct debug_units *units, struct debug_unit *unit, uint32_t container,
			unsigned depth, struct name_text *out)
{
	Dwarf_Die die;
	const char *name;

	if (container == NO_SCOPE || depth > DEPTH_MAX ||
	    !debug_unit_container_die(unit, container, &die))
		return;
	if (unit->containers[container].tag == DW_TAG_subprogram) {
		write_function(units, &die, depth + 1, out);
	} else {
		name = name_of(units, &die, depth + 1);
		text_put(out, name ? name : "");
	}
	text_put(out, "::");
}

/* The name with its scopes of a class, enumeration, typedef, namespace or function; interned. NULL:
 * no memory, or too deep. */
static const char *name_of(struct debug_units *units, Dwarf_Die *die, unsigned depth)
{
	const char *result = memo_get(units->memo, die->addr), *name;
	struct name_text text = { 0 };
	Dwarf_Die declared = die_origin(die), defined;
	struct debug_unit *unit;
	int tag = dwarf_tag(die);

	if (result)
		return result;
	if (depth > DEPTH_MAX || !units->steps)
		return NULL;
	units->steps--;
	name = dwarf_diename(&declared);
	/* what is left of a class whose content is in a type unit */
	if (!name && die_reference(&declared, DW_AT_signature, &defined))
		return defined.addr == die->addr ? NULL : name_of(units, &defined, depth + 1);
	unit = debug_unit_of(units, &declared);
	if (!unit)
		return NULL;
	write_scope(units, unit, debug_unit_container(unit, &declared), depth, &text);
	if (tag == DW_TAG_namespace)
		text_put(&text, name ? name : "(anonymous namespace)");
	else
		write_own(units, die, name ? name : dwarf_diename(die), depth, &text);
	if (!text.failed)
		result = names_text(units->names, text.at ? text.at : "");
	text_free(&text);
	if (result)
		memo_add(units, die->addr, result);
	return result;
}

const char *die_name(struct debug_units *units, Dwarf_Die *die)
{
	units->steps = STEPS_MAX;
	return name_of(units, die, 0);
}

/* "(int, char const*)" of a function type, with what stands behind it for a member function. */
static bool write_parameters(struct debug_units *units, Dwarf_Die *function, bool written,
			     unsigned depth, struct name_text *out)
{
	Dwarf_Die child, type;
	bool first = true, is_const = false;

	text_put(out, "(");
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
			text_put(out, first ? "" : ", ");
			first = false;
			if (tag == DW_TAG_unspecified_parameters)
				text_put(out, "...");
			else if (!die_reference(&child, DW_AT_type, &type) ||
				 !write_type(units, &type, "", written, depth + 1, out))
				return false;
		} while (die_next(&child));
	text_put(out, is_const ? ") const" : ")");
	return true;
}

/* "[3][4]" */
static void write_bounds(Dwarf_Die *array, struct name_text *out)
{
	Dwarf_Die child;
	char number[32];

	if (dwarf_child(array, &child)) {
		text_put(out, "[]");
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
		text_put(out, number);
	} while (die_next(&child));
}

bool die_subrange(Dwarf_Die *subrange, uint64_t *count)
{
	Dwarf_Attribute attribute;
	Dwarf_Word upper, lower = 0;

	if (dwarf_attr(subrange, DW_AT_count, &attribute) && !dwarf_formudata(&attribute, count))
		return true;
	if (!dwarf_attr(subrange, DW_AT_upper_bound, &attribute) ||
	    dwarf_formudata(&attribute, &upper))
		return false;
	if (dwarf_attr(subrange, DW_AT_lower_bound, &attribute) &&
	    dwarf_formudata(&attribute, &lower))
		lower = 0;
	/* [0] has -1 as its upper bound, in whatever width */
	*count = upper == UINT32_MAX || (int64_t)upper < (int64_t)lower ? 0 : upper - lower + 1;
	return true;
}

static bool in_class(struct debug_units *units, Dwarf_Die *die)
{
	const struct debug_unit *unit = debug_unit_of(units, die);
	uint32_t container = unit ? debug_unit_container(unit, die) : NO_SCOPE;

	return container != NO_SCOPE && die_is_class(unit->containers[container].tag);
}

/* Writes the type with a declarator in it, as C does: "int", "(*)(void)" … `die` NULL: void. False:
 * absurd. */
static bool write_type(struct debug_units *units, Dwarf_Die *die, const char *declarator,
		       bool written, unsigned depth, struct name_text *out)
{
	Dwarf_Die target;
	char *inner = NULL;
	bool good, has_target;
	const char *name;
	int tag;

	if (depth > DEPTH_MAX || out->failed || !units->steps)
		return false;
	units->steps--;
	if (!die) {
		text_put(out, "void");
		text_put(out, declarator);
		return true;
	}
	tag = dwarf_tag(die);
	has_target = die_reference(die, DW_AT_type, &target);
	switch (tag) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type: {
		const char *mark = tag == DW_TAG_pointer_type	  ? "*"
				   : tag == DW_TAG_reference_type ? "&"
								  : "&&";
		bool grouped = has_target && (dwarf_tag(&target) == DW_TAG_subroutine_type ||
					      dwarf_tag(&target) == DW_TAG_array_type);

		if (asprintf(&inner, grouped ? "(%s%s)" : "%s%s", mark, declarator) < 0)
			return false;
		break;
	}
	case DW_TAG_ptr_to_member_type: {
		Dwarf_Die class;
		const char *of = die_reference(die, DW_AT_containing_type, &class)
					 ? name_of(units, &class, depth + 1)
					 : NULL;
		bool grouped = has_target && dwarf_tag(&target) == DW_TAG_subroutine_type;

		if (!of || !has_target ||
		    asprintf(&inner, grouped ? "(%s::*%s)" : " %s::*%s", of, declarator) < 0)
			return false;
		break;
	}
	case DW_TAG_const_type:
	case DW_TAG_volatile_type: {
		const char *word = tag == DW_TAG_const_type ? "const" : "volatile";
		Dwarf_Die pointed = target;

		/* "const volatile", whichever is around the other */
		if (has_target && tag == DW_TAG_const_type &&
		    dwarf_tag(&target) == DW_TAG_volatile_type)
			has_target = die_reference(&target, DW_AT_type, &target),
			word = "const volatile", pointed = target;
		else if (has_target && tag == DW_TAG_volatile_type &&
			 dwarf_tag(&target) == DW_TAG_const_type)
			has_target = die_reference(&target, DW_AT_type, &target),
			word = "const volatile", pointed = target;
		if (!written && has_target && !peel_typedefs(&pointed))
			has_target = false;

		int behind = has_target ? dwarf_tag(&pointed) : 0;

		if (behind == DW_TAG_pointer_type || behind == DW_TAG_reference_type ||
		    behind == DW_TAG_rvalue_reference_type || behind == DW_TAG_ptr_to_member_type) {
			if (asprintf(&inner, " %s%s", word, declarator) < 0)
				return false;
			target = pointed;
			break;
		}
		text_put(out, word);
		text_put(out, " ");
		return write_type(units, has_target ? &target : NULL, declarator, written,
				  depth + 1, out);
	}
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_shared_type:
	case DW_TAG_immutable_type:
	case DW_TAG_packed_type:
		return write_type(units, has_target ? &target : NULL, declarator, written,
				  depth + 1, out);
	case DW_TAG_typedef:
	case DW_TAG_template_alias: {
		Dwarf_Die named = *die;

		/* a typedef is what names an unnamed type; a container's pointer and size_type say
		 * less than what they are */
		if ((written && !in_class(units, die)) ||
		    (peel_typedefs(&named) && die_named_by_typedef(&named)))
			break;
		return write_type(units, has_target ? &target : NULL, declarator, written,
				  depth + 1, out);
	}
	case DW_TAG_array_type: {
		struct name_text bounds = { 0 };

		text_put(&bounds, declarator);
		write_bounds(die, &bounds);
		good = bounds.at && write_type(units, has_target ? &target : NULL, bounds.at,
					       written, depth + 1, out);
		text_free(&bounds);
		return good;
	}
	case DW_TAG_subroutine_type: {
		struct name_text rest = { 0 };

		text_put(&rest, declarator);
		good = write_parameters(units, die, written, depth + 1, &rest) &&
		       write_type(units, has_target ? &target : NULL, rest.at ? rest.at : "",
				  written, depth + 1, out);
		text_free(&rest);
		return good;
	}
	}
	if (inner) {
		good = write_type(units, has_target ? &target : NULL, inner, written, depth + 1,
				  out);
		free(inner);
		return good;
	}
	if (tag == DW_TAG_base_type || tag == DW_TAG_unspecified_type) {
		name = dwarf_diename(die);
		die_normalize_text(name ? name : "{unnamed}", out);
	} else if (tag == DW_TAG_typedef || tag == DW_TAG_template_alias || die_is_class(tag) ||
		   tag == DW_TAG_enumeration_type) {
		name = name_of(units, die, depth + 1);
		if (!name)
			return false;
		text_put(out, name);
	} else {
		return false;
	}
	text_put(out, declarator);
	return true;
}

const char *die_type_text(struct debug_units *units, Dwarf_Die *die, bool written)
{
	struct name_text text = { 0 };
	const char *result = NULL;

	units->steps = STEPS_MAX;
	if (write_type(units, die, "", written, 0, &text) && !text.failed)
		result = names_text(units->names, text.at ? text.at : "");
	text_free(&text);
	return result;
}

const char *die_function_path(struct debug_units *units, Dwarf_Die *function)
{
	Dwarf_Die die = die_origin(function);
	struct debug_unit *unit = debug_unit_of(units, &die);
	uint32_t at = unit ? debug_unit_container(unit, &die) : NO_SCOPE;
	const char *name = dwarf_diename(&die), *parts[DEPTH_MAX], *result;
	struct name_text text = { 0 };
	size_t count = 0;

	if (!name)
		name = dwarf_diename(function);
	if (!name || dwarf_tag(&die) == DW_TAG_lexical_block)
		return NULL;
	for (; at != NO_SCOPE && count < DEPTH_MAX; at = unit->containers[at].parent) {
		Dwarf_Die container, defined;
		const char *part = unit->containers[at].name;

		if (unit->containers[at].tag == DW_TAG_subprogram)
			break; /* of a local class the path begins with the class */
		if (!part && unit->containers[at].tag == DW_TAG_namespace)
			part = "(anonymous namespace)";
		if (!part && debug_unit_container_die(unit, at, &container) &&
		    die_reference(&container, DW_AT_signature, &defined))
			part = dwarf_diename(&defined);
		parts[count++] = part ? part : "{unnamed}";
	}
	while (count--) {
		const char *part = *parts[count] == '<' ? "{lambda}" : parts[count];

		text_add(&text, part,
			 *part == '(' || *part == '{' ? strlen(part) : die_bare_length(part));
		text_put(&text, "::");
	}
	text_add(&text, name, die_bare_length(name));
	result = text.failed ? NULL : names_text(units->names, text.at);
	text_free(&text);
	return result;
}
