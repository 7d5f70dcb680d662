/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_unit.c: see debug_unit.h.
 *
 * One walk over the unit's DIEs (0.1 µs each) collects everything. It stops after as many DIEs as
 * its caller allows, so that a DW_AT_sibling that points back can't make it endless, and at depth
 * DEBUG_DEPTH_MAX.
 */
#include "debug_unit.h"

#include <dwarf.h>
#include <stdlib.h>

#include "../../src/base/lower_bound.h"
#include "die.h"

/* One level of the walk: a DIE, and the scope and container around it. */
struct unit_level {
	Dwarf_Die die;
	uint32_t scope, container;
	/* a function around it that isn't a container yet, because no class was found in it so far;
	 * 0: none */
	Dwarf_Off function;
};

/* Returns the new container's index. */
static uint32_t add_container(struct debug_unit *unit, Dwarf_Off offset, const char *name, int tag,
			      uint32_t parent)
{
	*vec_push(&unit->containers) = (struct die_container){ offset, offset, name, parent, tag };
	return (uint32_t)unit->containers.count - 1;
}

/* Adds a container for the function around a class. Few functions contain classes, and there are
 * many functions. */
static void enter_function(struct debug_unit *unit, struct unit_level *levels, size_t depth)
{
	Dwarf_Off function = levels[depth].function;
	uint32_t self =
		add_container(unit, function, NULL, DW_TAG_subprogram, levels[depth].container);

	for (size_t i = depth + 1; i-- > 0 && levels[i].function == function;) {
		levels[i].container = self;
		levels[i].function = 0;
	}
}

/* Adds the scope of a function's DIE. Returns the scope of its children: the new scope, NO_SCOPE
 * for a function without code, or the scope around it. */
static uint32_t add_scope(struct debug_unit *unit, const struct binary *file,
			  struct unit_level *level, bool function)
{
	uint32_t self = (uint32_t)unit->scopes.count;
	size_t first = unit->ranges.all.count;

	if (!debug_ranges_add(&unit->ranges, file, &level->die, self))
		return function ? NO_SCOPE : level->scope;
	*vec_push(&unit->scopes) = (struct unit_scope){
		.die = level->die,
		.entry = unit->ranges.all.at[first].low,
		.parent = function ? NO_SCOPE : level->scope,
		.call_file = function ? 0 : die_number(&level->die, DW_AT_call_file),
		.call_line = function ? 0 : die_number(&level->die, DW_AT_call_line),
	};
	return self;
}

/* Advances to the next DIE that isn't below the one at `*depth`. False: the unit ends. */
static bool go_on(struct debug_unit *unit, struct unit_level *levels, size_t *depth, Dwarf_Off last)
{
	while (dwarf_siblingof(&levels[*depth].die, &levels[*depth].die)) {
		if (!(*depth)--)
			return false;
		if (levels[*depth + 1].container != levels[*depth].container)
			unit->containers.at[levels[*depth + 1].container].end = last;
	}
	return true;
}

void debug_unit_walk(struct debug_unit *unit, const struct binary *file, uint64_t limit)
{
	struct unit_level *levels = mem_zero(DEBUG_DEPTH_MAX, sizeof(*levels));
	size_t depth = 0;
	bool more = !dwarf_child(&unit->die, &levels[0].die);

	levels[0].scope = levels[0].container = NO_SCOPE;
	for (uint64_t steps = 0; more && steps < limit; steps++) {
		struct unit_level *level = &levels[depth];
		int tag = dwarf_tag(&level->die);
		bool class = tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
			     tag == DW_TAG_union_type;
		bool function = tag == DW_TAG_subprogram;
		Dwarf_Off offset = dwarf_dieoffset(&level->die);
		uint32_t inside = level->scope;

		if ((class || tag == DW_TAG_enumeration_type) && level->function)
			enter_function(unit, levels, depth);
		if (function || tag == DW_TAG_inlined_subroutine)
			inside = add_scope(unit, file, level, function);
		/* these tags are the most frequent, and contain neither functions nor scopes */
		if (tag != DW_TAG_enumeration_type && tag != DW_TAG_subroutine_type &&
		    tag != DW_TAG_array_type && depth + 1 < DEBUG_DEPTH_MAX &&
		    !dwarf_child(&level->die, &level[1].die)) {
			uint32_t within = level->container;

			if (class || tag == DW_TAG_namespace)
				within = add_container(unit, offset, dwarf_diename(&level->die),
						       tag, within);
			level[1].scope = inside;
			level[1].container = within;
			level[1].function = function			 ? offset
					    : within == level->container ? level->function
									 : 0;
			depth++;
		} else {
			more = go_on(unit, levels, &depth, offset);
		}
	}
	free(levels);
	debug_ranges_sort(&unit->ranges);
}

void debug_unit_free(struct debug_unit *unit)
{
	free(unit->scopes.at);
	free(unit->containers.at);
	debug_ranges_free(&unit->ranges);
	free(unit);
}

uint32_t debug_unit_container(const struct debug_unit *unit, Dwarf_Die *die)
{
	Dwarf_Off offset = dwarf_dieoffset(die);
	size_t behind =
		lower_bound(unit->containers.count, i, unit->containers.at[i].start < offset);
	/* the one before, or one around that */
	uint32_t at = behind ? (uint32_t)behind - 1 : NO_SCOPE;

	while (at != NO_SCOPE && unit->containers.at[at].end < offset)
		at = unit->containers.at[at].parent;
	return at;
}

bool debug_unit_container_die(const struct debug_unit *unit, uint32_t container, Dwarf_Die *out)
{
	Dwarf_Die whole = unit->die;

	return die_at_offset(&whole, unit->containers.at[container].start, out);
}
