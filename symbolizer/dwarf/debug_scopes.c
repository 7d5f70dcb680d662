/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_scopes.c: the functions and inlined functions around an address, with their names, and its
 * line. Two binary searches in the tables of debug_units.c find the innermost; the others are its
 * parents.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>

#include "debug_unit.h"

enum { INLINED_MAX = 128, PIECES_MAX = 64 };

/* "a::b::" of containers[at], into `out`, as far as there is room. Returns the length. */
static size_t container_prefix(const struct debug_unit *unit, uint32_t at, char *out, size_t room,
			       unsigned depth)
{
	const struct die_container *container = &unit->containers[at];
	size_t used = container->parent != NO_SCOPE && depth < DEBUG_DEPTH_MAX
			      ? container_prefix(unit, container->parent, out, room, depth + 1)
			      : 0;
	int more;

	if (container->tag == DW_TAG_subprogram)
		return used;
	more = snprintf(out + used, room - used,
			"%s::", container->name ? container->name : "(anonymous namespace)");
	return more > 0 && (size_t)more < room - used ? used + (size_t)more : used;
}

/* The name with its scopes, of a function that has no linkage name; they are those of the
 * declaration that it refers to. */
static const char *qualified_name(struct debug_units *units, Dwarf_Die *function)
{
	Dwarf_Die die = die_origin(function);
	Dwarf_Attribute attribute;
	const char *name = dwarf_diename(&die);
	char text[2048];

	if (!name && dwarf_attr_integrate(function, DW_AT_name, &attribute))
		name = dwarf_formstring(&attribute);

	struct debug_unit *unit = name ? debug_unit_of(units, &die) : NULL;
	uint32_t container = unit ? debug_unit_container(unit, &die) : NO_SCOPE;

	if (container == NO_SCOPE)
		return name;

	size_t used = container_prefix(unit, container, text, sizeof(text), 0);

	snprintf(text + used, sizeof(text) - used, "%s", name);
	return names_text(units->names, text);
}

/* The name of a function: linkage names are whole (scopes, template arguments, parameters), plain
 * ones are the C function's. */
static const char *scope_name(struct debug_units *units, struct unit_scope *scope)
{
	static const unsigned linkage[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (scope->name)
		return *scope->name ? scope->name : NULL;
	for (size_t i = 0; i < 2 && !name; i++)
		if (dwarf_attr_integrate(&scope->die, linkage[i], &attribute))
			name = dwarf_formstring(&attribute);
	scope->bare = !name || name[0] != '_' || (name[1] != 'Z' && name[1] != 'R');
	if (!name)
		name = qualified_name(units, &scope->die);
	scope->name = name ? names_demangled(units->names, name) : "";
	if (!scope->name)
		scope->name = "";
	return *scope->name ? scope->name : NULL;
}

struct unit_scope *debug_scope_at(struct debug_units *units, uint64_t vaddr,
				  struct debug_unit **unit, const struct code_range **range)
{
	for (size_t at = units->ranges.count; debug_next_range(&units->ranges, vaddr, &at);) {
		struct debug_unit *candidate = units->units[units->ranges.at[at].owner];
		size_t inside;

		debug_unit_load(units, candidate);
		inside = candidate->ranges.count;
		/* of ranges that start and end together the inner scope was met last */
		if (debug_next_range(&candidate->ranges, vaddr, &inside)) {
			*unit = candidate;
			*range = &candidate->ranges.at[inside];
			return &candidate->scopes[(*range)->owner];
		}
	}
	return NULL;
}

/* Fills `out` from a scope and the range of it that was found. */
static void give_scope(struct debug_units *units, struct debug_unit *unit, struct unit_scope *scope,
		       const struct code_range *range, struct debug_scope *out)
{
	*out = (struct debug_scope){ .die = scope->die,
				     .name = scope_name(units, scope),
				     .bare = scope->bare,
				     .inlined = scope->parent != NO_SCOPE,
				     .call_file = scope->call_file,
				     .call_line = scope->call_line,
				     .low = range->low,
				     .high = range->high,
				     .id = (uint32_t)(scope - unit->scopes) };
}

size_t debug_units_scopes(struct debug_units *units, uint64_t vaddr, struct debug_scope *out,
			  size_t room)
{
	const struct code_range *range;
	struct debug_unit *unit;
	struct unit_scope *scope =
		debug_units_ready(units) ? debug_scope_at(units, vaddr, &unit, &range) : NULL;
	size_t count = 0;

	while (scope && count < room) {
		size_t at = (size_t)(range - unit->ranges.at);

		give_scope(units, unit, scope, range, &out[count++]);
		if (scope->parent == NO_SCOPE)
			break;

		uint32_t parent = scope->parent;

		/* the parent's range is further out; where broken DWARF has none that covers the
		 * address, the child's stands for it */
		scope = &unit->scopes[parent];
		while (debug_next_range(&unit->ranges, vaddr, &at))
			if (unit->ranges.at[at].owner == parent) {
				range = &unit->ranges.at[at];
				break;
			}
	}
	return count;
}

static int by_low(const void *a, const void *b)
{
	const struct debug_scope *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low ? 1 : x->id < y->id ? -1 : x->id > y->id;
}

/* Pieces of one inlined scope: of those in the range of the parent that covers the address, and of
 * all in that part of the function. */
struct pieces {
	const struct code_range *near, *any; /* the first behind the address; NULL none */
	bool near_earlier, any_earlier; /* others lie before it */
};

size_t debug_units_inlined_behind(struct debug_units *units, uint64_t vaddr,
				  const struct debug_scope *parent, struct debug_scope *out,
				  size_t room)
{
	struct pieces pieces[INLINED_MAX] = { 0 };
	uint32_t ids[INLINED_MAX];
	const struct code_range *found, *main;
	struct debug_unit *unit;
	struct unit_scope *outer =
		debug_units_ready(units) ? debug_scope_at(units, parent->low, &unit, &found) : NULL;
	size_t known = 0, count = 0, low = 0, high, at;

	if (!outer || parent->id >= unit->scope_count)
		return 0;
	main = found;
	at = (size_t)(found - unit->ranges.at);
	while (debug_next_range(&unit->ranges, parent->low, &at)) /* the last is the outermost */
		main = &unit->ranges.at[at];
	for (high = unit->ranges.count; low < high;) { /* the first range that begins there */
		size_t middle = low + (high - low) / 2;

		if (unit->ranges.at[middle].low < main->low)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < unit->ranges.count && unit->ranges.at[low].low < main->high; low++) {
		const struct code_range *range = &unit->ranges.at[low];
		bool near = range->low >= parent->low && range->low < parent->high;
		size_t i = 0;

		if (unit->scopes[range->owner].parent != parent->id)
			continue;
		while (i < known && ids[i] != range->owner)
			i++;
		if (i == INLINED_MAX)
			continue;
		if (i == known)
			ids[known++] = range->owner;
		if (range->low < vaddr) {
			pieces[i].any_earlier = true;
			pieces[i].near_earlier |= near;
		} else {
			pieces[i].any = pieces[i].any ? pieces[i].any : range;
			pieces[i].near = pieces[i].near || !near ? pieces[i].near : range;
		}
	}
	for (size_t i = 0; i < known && count < room; i++) {
		const struct code_range *range = pieces[i].near ? pieces[i].near : pieces[i].any;

		if (!range)
			continue;
		give_scope(units, unit, &unit->scopes[ids[i]], range, &out[count]);
		out[count++].earlier =
			pieces[i].near ? pieces[i].near_earlier : pieces[i].any_earlier;
	}
	if (count)
		qsort(out, count, sizeof(*out), by_low);
	return count;
}

bool debug_units_other_part(const struct debug_scope *function, uint64_t *low, uint64_t *high)
{
	Dwarf_Die die = function->die;
	Dwarf_Addr base, begin, end;
	uint64_t best = 0;
	ptrdiff_t at = 0;

	for (unsigned i = 0;
	     i < PIECES_MAX && (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0; i++)
		if (begin != function->low && end > begin && end - begin > best) {
			best = end - begin;
			*low = begin;
			*high = end;
		}
	return best != 0;
}

bool debug_units_function_at(struct debug_units *units, uint64_t vaddr, Dwarf_Die *out)
{
	const struct code_range *range;
	struct debug_unit *unit;
	struct unit_scope *scope =
		debug_units_ready(units) ? debug_scope_at(units, vaddr, &unit, &range) : NULL;

	for (unsigned hops = 0; scope && scope->parent != NO_SCOPE && hops < DEBUG_DEPTH_MAX;
	     hops++)
		scope = &unit->scopes[scope->parent];
	if (!scope || scope->parent != NO_SCOPE || scope->entry != vaddr)
		return false;
	*out = scope->die;
	return true;
}

bool debug_units_place(struct debug_units *units, uint64_t vaddr, const char **file, uint32_t *line)
{
	*file = NULL;
	*line = 0;
	if (!debug_units_ready(units))
		return false;
	for (size_t at = units->ranges.count; debug_next_range(&units->ranges, vaddr, &at);) {
		Dwarf_Line *found =
			dwarf_getsrc_die(&units->units[units->ranges.at[at].owner]->skeleton,
					 vaddr);
		int number = 0;

		if (!found)
			continue;
		if (!dwarf_lineno(found, &number) && number > 0)
			*line = (uint32_t)number;
		*file = names_text(units->names, dwarf_linesrc(found, NULL, NULL));
		return true;
	}
	return false;
}

uint32_t debug_units_line(struct debug_units *units, uint64_t vaddr)
{
	const char *file;
	uint32_t line;

	debug_units_place(units, vaddr, &file, &line);
	return line;
}

const char *debug_unit_file(struct debug_units *units, Dwarf_Die *die, uint32_t number)
{
	struct debug_unit *unit = debug_unit_of(units, die);
	Dwarf_Files *files;
	Dwarf_Half version = 0;
	size_t count;

	if (!unit ||
	    (dwarf_getsrcfiles(&unit->die, &files, &count) &&
	     dwarf_getsrcfiles(&unit->skeleton, &files, &count)) ||
	    number >= count)
		return NULL;
	/* DWARF 5 counts from 0; libdw's dwarf_decl_file() thinks that 0 is none */
	dwarf_cu_info(unit->skeleton.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL);
	return number || version >= 5
		       ? names_text(units->names, dwarf_filesrc(files, number, NULL, NULL))
		       : NULL;
}

const char *debug_units_call_file(struct debug_units *units, struct debug_scope *scope)
{
	return debug_unit_file(units, &scope->die, scope->call_file);
}
