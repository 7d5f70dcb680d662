/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_scopes.c: see debug_scopes.h. Two binary searches find the innermost scope: among the
 * ranges of the units, then among those of the scopes of one unit. The others are its parents.
 */
#include "debug_scopes.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/row_order.h"
#include "debug_lines.h"
#include "debug_overlay.h"
#include "debug_unit.h"
#include "die.h"
#include "plain_name.h"

enum { INLINED_MAX = 128, PIECES_MAX = 64 };

/* Writes "a::b::" of containers[at] into `out`, as far as there is room. Returns the length. */
static size_t container_prefix(const struct debug_unit *unit, uint32_t at, char *out, size_t room,
			       unsigned depth)
{
	const struct die_container *container = &unit->containers.at[at];
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

/* Returns the name with its scopes of a function without a linkage name; the scopes are those of
 * the declaration that it refers to. */
static const char *qualified_name(struct debug_units *units, Dwarf_Die *function)
{
	Dwarf_Die die = die_origin(function);
	Dwarf_Attribute attribute;
	const char *name = dwarf_diename(&die);
	char text[2048];

	if (!name && dwarf_attr_integrate(function, DW_AT_name, &attribute))
		name = dwarf_formstring(&attribute);

	struct debug_unit *unit = name ? debug_units_of(units, &die) : NULL;
	uint32_t container = unit ? debug_unit_container(unit, &die) : NO_SCOPE;

	if (container == NO_SCOPE)
		return name;

	size_t used = container_prefix(unit, container, text, sizeof(text), 0);

	snprintf(text + used, sizeof(text) - used, "%s", name);
	return names_text(debug_units_names(units), text);
}

/* Returns the name of a function. Linkage names are whole (scopes, template arguments, parameters),
 * plain ones are C functions'. "": it has none. */
static const char *function_name(struct debug_units *units, Dwarf_Die *function, bool *bare)
{
	static const unsigned linkage[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };
	Dwarf_Attribute attribute;
	const char *name = NULL;

	for (size_t i = 0; i < 2 && !name; i++)
		if (dwarf_attr_integrate(function, linkage[i], &attribute))
			name = dwarf_formstring(&attribute);
	*bare = !name || name[0] != '_' || (name[1] != 'Z' && name[1] != 'R');
	if (!name)
		name = qualified_name(units, function);
	name = plain_name_ada(units, function, name);
	name = name ? names_demangled(debug_units_names(units), name) : NULL;
	return name ? name : "";
}

const char *debug_scopes_function_name(struct debug_units *units, Dwarf_Die *function)
{
	bool bare;
	const char *name = function_name(units, function, &bare);

	return *name ? name : NULL;
}

static const char *scope_name(struct debug_units *units, struct unit_scope *scope)
{
	if (!scope->name)
		scope->name = function_name(units, &scope->die, &scope->bare);
	return *scope->name ? scope->name : NULL;
}

struct unit_scope *debug_scopes_innermost(struct debug_units *units, uint64_t vaddr,
					  struct debug_unit **unit, const struct code_range **range)
{
	struct debug_unit *candidate;
	size_t at = SIZE_MAX;

	if (!debug_units_ready(units))
		return NULL;
	while ((candidate = debug_units_covering(units, vaddr, &at))) {
		size_t inside;

		debug_units_load(units, candidate);
		inside = candidate->ranges.all.count;
		/* of ranges with equal bounds the inner scope's was added last */
		if (debug_ranges_next(&candidate->ranges, vaddr, &inside)) {
			*unit = candidate;
			*range = &candidate->ranges.all.at[inside];
			return &candidate->scopes.at[(*range)->owner];
		}
	}
	return NULL;
}

/* Fills `out` from a scope and its range that was found. Lines remain those of the function that
 * has the addresses: the line table knows no other. */
static void give_scope(struct debug_units *units, struct debug_unit *unit, struct unit_scope *scope,
		       const struct code_range *range, struct debug_scope *out)
{
	*out = (struct debug_scope){ .die = scope->die,
				     .code = scope->die,
				     .name = scope_name(units, scope),
				     .bare = scope->bare,
				     .inlined = scope->parent != NO_SCOPE,
				     .call_file = scope->call_file,
				     .call_line = scope->call_line,
				     .low = range->low,
				     .high = range->high,
				     .id = (uint32_t)(scope - unit->scopes.at) };
	switch (debug_overlay_die(units, &out->die)) {
	case DEBUG_OVERLAY_NONE:
		break;
	case DEBUG_OVERLAY_OTHER:
		out->name = function_name(units, &out->die, &out->bare);
		out->name = *out->name ? out->name : NULL;
		break;
	case DEBUG_OVERLAY_MISSING:
		out->name = NULL;
		break;
	}
}

size_t debug_scopes_at(struct debug_units *units, uint64_t vaddr, struct debug_scope *out,
		       size_t room)
{
	const struct code_range *range;
	struct debug_unit *unit;
	struct unit_scope *scope = debug_scopes_innermost(units, vaddr, &unit, &range);
	size_t count = 0;

	while (scope && count < room) {
		size_t at = (size_t)(range - unit->ranges.all.at);

		give_scope(units, unit, scope, range, &out[count++]);
		if (scope->parent == NO_SCOPE)
			break;

		uint32_t parent = scope->parent;

		/* the parent's range is further out; if broken DWARF has none that covers the
		 * address, the child's replaces it */
		scope = &unit->scopes.at[parent];
		while (debug_ranges_next(&unit->ranges, vaddr, &at))
			if (unit->ranges.all.at[at].owner == parent) {
				range = &unit->ranges.all.at[at];
				break;
			}
	}
	return count;
}

ORDER_BY(by_low, struct debug_scope, ORDER_UP(low) ?: ORDER_UP(id))

/* Pieces of one inlined scope: those in the parent's range that covers the address, and all in that
 * part of the function. */
struct pieces {
	const struct code_range *near, *any; /* the first after the address; NULL: none */
	bool near_earlier, any_earlier; /* others precede it */
};

size_t debug_scopes_behind(struct debug_units *units, uint64_t vaddr,
			   const struct debug_scope *parent, struct debug_scope *out, size_t room)
{
	struct pieces pieces[INLINED_MAX] = { 0 };
	uint32_t ids[INLINED_MAX];
	const struct code_range *found, *main;
	struct debug_unit *unit;
	struct unit_scope *outer = debug_scopes_innermost(units, parent->low, &unit, &found);
	size_t known = 0, count = 0, low, at;

	if (!outer || parent->id >= unit->scopes.count)
		return 0;
	main = found;
	at = (size_t)(found - unit->ranges.all.at);
	while (debug_ranges_next(&unit->ranges, parent->low, &at)) /* the last is the outermost */
		main = &unit->ranges.all.at[at];
	low = lower_bound(unit->ranges.all.count, i, unit->ranges.all.at[i].low < main->low);
	for (; low < unit->ranges.all.count && unit->ranges.all.at[low].low < main->high; low++) {
		const struct code_range *range = &unit->ranges.all.at[low];
		bool near = range->low >= parent->low && range->low < parent->high;
		size_t i = 0;

		if (unit->scopes.at[range->owner].parent != parent->id)
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
		give_scope(units, unit, &unit->scopes.at[ids[i]], range, &out[count]);
		out[count++].earlier =
			pieces[i].near ? pieces[i].near_earlier : pieces[i].any_earlier;
	}
	if (count)
		qsort(out, count, sizeof(*out), by_low);
	return count;
}

bool debug_scopes_other_part(const struct debug_scope *function, uint64_t *low, uint64_t *high)
{
	Dwarf_Die die = function->code;
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

bool debug_scopes_function_at(struct debug_units *units, uint64_t vaddr, Dwarf_Die *out)
{
	const struct code_range *range;
	struct debug_unit *unit;
	struct unit_scope *scope = debug_scopes_innermost(units, vaddr, &unit, &range);

	for (unsigned hops = 0; scope && scope->parent != NO_SCOPE && hops < DEBUG_DEPTH_MAX;
	     hops++)
		scope = &unit->scopes.at[scope->parent];
	if (!scope || scope->parent != NO_SCOPE || scope->entry != vaddr)
		return false;
	*out = scope->die;
	return true;
}

const char *debug_scopes_call_file(struct debug_units *units, struct debug_scope *scope)
{
	return debug_lines_file(units, &scope->code, scope->call_file);
}
