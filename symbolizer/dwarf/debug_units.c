/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_units.c: the units of a file, and the functions in each; debug_scopes.c asks them.
 *
 * The problem. libdw has dwarf_addrdie and dwarf_getscopes for this. The first reads
 * .debug_aranges, which clang doesn't write: 0 of 300 addresses found. The second walks the
 * compilation unit at each call: 1.8 ms on the average, 20 ms at worst, the second time as slow as
 * the first.
 *
 * The approach. Two levels, each built when it is asked for:
 *   units     address ranges of every compilation unit, from DW_AT_ranges of its DIE (2,030 ranges
 *             in 5 ms for 81 MB of protoc)
 *   scopes    for a unit that an address falls into: the ranges of each function and inlined
 *             subroutine, with the index of the scope around it, from one walk of its DIEs (0.1 µs
 *             a DIE)
 * An address is looked up by two binary searches. A function that was split into hot and cold parts
 * has several ranges, each of which is an entry here. The same walk notes which namespaces, classes
 * and functions contain which DIEs (struct die_container): libdw can't go up.
 *
 * Split DWARF: the skeleton in the file has the ranges, the .dwo has the DIEs. libdw opens the .dwo
 * when the unit is asked for; one that is elsewhere, or in a .dwp, is split.c's work; without any
 * the line table still gives file and line. Alternate files (dwz) are opened here, to look in the
 * user's directories too. Units without code (type units, dwz's partial ones, those of a .dwo) have
 * an entry too, found by the Dwarf_CU that a DIE names.
 *
 * Bounds. The walk of a unit stops after as many DIEs as it has bytes, so that a DW_AT_sibling that
 * points back can't make it endless, and at depth 512. What libdw keeps for the units that were
 * asked for (lines, abbreviations) is only freed with its Dwarf: when we have loaded DEBUG_BUDGET
 * bytes of units, everything is closed and opened again at the next question. Callers keep the
 * answers.
 *
 * Not covered: units without DW_AT_ranges and without DW_AT_low_pc.
 */
#include "debug_units.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../elf/debugfile.h"
#include "split.h"
#include "../elf/unpack.h"
#include "debug_unit.h"

#define RANGES_MAX (1u << 22)

bool debug_reserve(void *array, size_t count, size_t *room, size_t size)
{
	void **at = array, *larger;

	if (count < *room)
		return true;
	larger = reallocarray(*at, *room ? *room * 2 : 64, size);
	if (!larger)
		return false;
	*at = larger;
	*room = *room ? *room * 2 : 64;
	return true;
}

/* Adds the ranges of `die`. Linkers leave dead functions behind, at 0 or at 1: only code counts. */
static bool add_ranges(const struct debug_units *units, Dwarf_Die *die, uint32_t owner,
		       struct code_ranges *ranges)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	bool any = false;

	while (ranges->count < RANGES_MAX && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (high <= low || !(binary_flags(units->file, low) & PF_X))
			continue;
		if (!debug_reserve(&ranges->at, ranges->count, &ranges->room, sizeof(*ranges->at)))
			break;
		ranges->at[ranges->count] =
			(struct code_range){ low, high, 0, owner, (uint32_t)ranges->count };
		ranges->count++;
		any = true;
	}
	return any;
}

static int compare(const void *a, const void *b)
{
	const struct code_range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_ranges(struct code_ranges *ranges)
{
	uint64_t reach = 0;

	if (ranges->count)
		qsort(ranges->at, ranges->count, sizeof(*ranges->at), compare);
	for (size_t i = 0; i < ranges->count; i++) {
		if (ranges->at[i].high > reach)
			reach = ranges->at[i].high;
		ranges->at[i].reach = reach;
	}
}

bool debug_next_range(const struct code_ranges *ranges, uint64_t vaddr, size_t *at)
{
	size_t low = 0, high = *at;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->at[middle].low <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0 && ranges->at[low].reach > vaddr)
		if (ranges->at[low].high > vaddr) {
			*at = low;
			return true;
		}
	return false;
}

static void unit_free(struct debug_unit *unit)
{
	free(unit->scopes);
	free(unit->containers);
	free(unit->ranges.at);
	debug_variables_free(unit->variables);
	free(unit);
}

static void close_dwarf(struct debug_units *units)
{
	for (size_t i = 0; i < units->unit_count; i++)
		unit_free(units->units[i]);
	free(units->units);
	free(units->by_cu);
	free(units->ranges.at);
	units->units = NULL;
	units->by_cu = NULL;
	units->unit_count = units->unit_room = units->by_cu_count = units->by_cu_room = 0;
	memset(&units->ranges, 0, sizeof(units->ranges));
	units->loaded = 0;
	die_memo_free(units->memo);
	units->memo = NULL;
	type_memo_free(units->type_memo);
	units->type_memo = NULL;
	split_destroy(units->split);
	units->split = NULL;
	unpacked_end(units->dwarf, units->unpacked);
	units->unpacked = NULL;
	if (units->alt)
		dwarf_end(units->alt);
	units->dwarf = units->alt = NULL;
	if (units->fd >= 0)
		close(units->fd);
	if (units->alt_fd >= 0)
		close(units->alt_fd);
	units->fd = units->alt_fd = -1;
}

/* dwz moves what several files share into another file, named by path and build-id. */
static void open_alternate(struct debug_units *units)
{
	const char *name;
	const void *id;
	ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(units->dwarf, &name, &id);
	char *path = NULL;

	if (bytes <= 0)
		return;
	if (*name == '/') {
		path = strdup(name);
	} else {
		const char *slash = strrchr(units->path, '/');
		size_t directory = slash ? (size_t)(slash - units->path) + 1 : 0;

		path = calloc(1, directory + strlen(name) + 1);
		if (path)
			strcpy((char *)memcpy(path, units->path, directory) + directory, name);
	}
	for (int pass = 0; pass < 2 && !units->alt; pass++) {
		struct binary check;

		if (pass) {
			free(path);
			path = debugfile_by_id(id, (size_t)bytes, units->debug_dirs);
		}
		if (!path || binary_open(&check, path) != BINARY_OK)
			continue;

		bool same = check.build_id_bytes == (size_t)bytes &&
			    !memcmp(check.build_id, id, (size_t)bytes);

		binary_close(&check);
		units->alt_fd = same ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		if (units->alt_fd >= 0)
			units->alt = dwarf_begin(units->alt_fd, DWARF_C_READ);
	}
	free(path);
	if (units->alt)
		dwarf_setalt(units->dwarf, units->alt);
}

static struct cu_entry *cu_slot(struct cu_entry *table, size_t room, const void *cu)
{
	for (size_t at = (size_t)(((uintptr_t)cu >> 4) * 0x9e3779b97f4a7c15ull >> 32);; at++) {
		struct cu_entry *entry = &table[at & (room - 1)];

		if (!entry->cu || entry->cu == cu)
			return entry;
	}
}

/* `unit` is found by `cu` from now on. */
static bool cu_add(struct debug_units *units, const void *cu, struct debug_unit *unit)
{
	if (units->by_cu_count * 2 >= units->by_cu_room) {
		size_t room = units->by_cu_room ? units->by_cu_room * 2 : 64;
		struct cu_entry *larger = calloc(room, sizeof(*larger));

		if (!larger)
			return false;
		for (size_t i = 0; i < units->by_cu_room; i++)
			if (units->by_cu[i].cu)
				*cu_slot(larger, room, units->by_cu[i].cu) = units->by_cu[i];
		free(units->by_cu);
		units->by_cu = larger;
		units->by_cu_room = room;
	}

	struct cu_entry *entry = cu_slot(units->by_cu, units->by_cu_room, cu);

	units->by_cu_count += !entry->cu;
	*entry = (struct cu_entry){ cu, unit };
	return true;
}

/* NULL: no memory. */
static struct debug_unit *unit_add(struct debug_units *units, const Dwarf_Die *die)
{
	struct debug_unit *unit;

	if (!debug_reserve(&units->units, units->unit_count, &units->unit_room,
			   sizeof(*units->units)))
		return NULL;
	unit = calloc(1, sizeof(*unit));
	if (!unit)
		return NULL;
	unit->skeleton = unit->die = *die;
	unit->index = (uint32_t)units->unit_count;
	if (!cu_add(units, die->cu, unit)) {
		free(unit);
		return NULL;
	}
	return units->units[units->unit_count++] = unit;
}

static void add_units(struct debug_units *units, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	while (!dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL)) {
		struct debug_unit *unit = unit_add(units, &die);

		if (!unit)
			break;
		add_ranges(units, &unit->skeleton, (uint32_t)units->unit_count - 1, &units->ranges);
	}
}

static bool open_dwarf(struct debug_units *units)
{
	if (units->dwarf)
		return true;
	units->fd = open(units->path, O_RDONLY | O_CLOEXEC);
	units->dwarf = units->fd >= 0 ? unpacked_begin(units->fd, &units->unpacked) : NULL;
	if (!units->dwarf)
		return false;
	open_alternate(units);
	add_units(units, units->dwarf);
	units->main_units = units->unit_count;
	sort_ranges(&units->ranges);
	return true;
}

bool debug_units_ready(struct debug_units *units)
{
	if (units->loaded > DEBUG_BUDGET && !units->hold)
		close_dwarf(units);
	return open_dwarf(units);
}

struct debug_units *debug_units_create(const char *path, const struct binary *file,
				       struct names *names, const char *const *debug_dirs)
{
	struct debug_units *units = calloc(1, sizeof(*units));

	if (!units)
		return NULL;
	*units = (struct debug_units){ .path = strdup(path),
				       .file = file,
				       .names = names,
				       .debug_dirs = debug_dirs,
				       .fd = -1,
				       .alt_fd = -1 };
	if (!units->path || !open_dwarf(units) || !units->ranges.count) {
		debug_units_destroy(units);
		return NULL;
	}
	return units;
}

void debug_units_destroy(struct debug_units *units)
{
	if (!units)
		return;
	close_dwarf(units);
	debug_definitions_free(units->definitions);
	if (units->cfi)
		dwarf_cfi_end(units->cfi);
	if (units->code)
		elf_end(units->code);
	free(units->path);
	free(units->module_path);
	free(units);
}

void debug_units_set_module(struct debug_units *units, const char *module_path)
{
	free(units->module_path);
	units->module_path = strdup(module_path);
}

void debug_units_hold(struct debug_units *units, bool hold)
{
	if (hold && !units->hold)
		debug_units_ready(units); /* the budget is kept between two pieces of work */
	units->hold = hold;
}

uint32_t die_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

bool die_flag(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	bool value;

	return dwarf_attr(die, name, &attribute) && !dwarf_formflag(&attribute, &value) && value;
}

Dwarf_Die die_origin(Dwarf_Die *die)
{
	Dwarf_Die origin = *die, next;
	Dwarf_Attribute attribute;

	for (int hops = 0; hops < DEBUG_HOPS_MAX; hops++) {
		if ((!dwarf_attr(&origin, DW_AT_abstract_origin, &attribute) &&
		     !dwarf_attr(&origin, DW_AT_specification, &attribute)) ||
		    !dwarf_formref_die(&attribute, &next))
			break;
		origin = next;
	}
	return origin;
}

/* One level of the walk: a DIE, and what is around it. */
struct unit_level {
	Dwarf_Die die;
	uint32_t scope, container;
	Dwarf_Off function; /* a function around it that isn't a container yet, because no class was
	                     * met in it; 0: none */
};

/* Returns the new container's index; without memory, its parent's. */
static uint32_t add_container(struct debug_unit *unit, Dwarf_Off offset, const char *name, int tag,
			      uint32_t parent)
{
	if (!debug_reserve(&unit->containers, unit->container_count, &unit->container_room,
			   sizeof(*unit->containers)))
		return parent;
	unit->containers[unit->container_count] =
		(struct die_container){ offset, offset, name, parent, tag };
	return (uint32_t)unit->container_count++;
}

/* A class was met: the function around it becomes a container. Most functions have none, and there
 * are many functions. */
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

/* Walks the unit's DIEs and collects its scopes and containers. */
static void walk(struct debug_units *units, struct debug_unit *unit, uint64_t limit)
{
	struct unit_level *levels = calloc(DEBUG_DEPTH_MAX, sizeof(*levels));
	size_t depth = 0;

	if (!levels || dwarf_child(&unit->die, &levels[0].die)) {
		free(levels);
		return;
	}
	levels[0].scope = levels[0].container = NO_SCOPE;
	for (uint64_t steps = 0; steps < limit; steps++) {
		struct unit_level *level = &levels[depth];
		int tag = dwarf_tag(&level->die);
		bool class = tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
			     tag == DW_TAG_union_type;
		bool function = tag == DW_TAG_subprogram;
		Dwarf_Off offset = dwarf_dieoffset(&level->die);
		uint32_t inside = level->scope;

		if ((class || tag == DW_TAG_enumeration_type) && level->function)
			enter_function(unit, levels, depth);
		if (function || tag == DW_TAG_inlined_subroutine) {
			uint32_t self = (uint32_t)unit->scope_count;
			size_t first = unit->ranges.count;

			if (!debug_reserve(&unit->scopes, unit->scope_count, &unit->scope_room,
					   sizeof(*unit->scopes)))
				break;
			if (add_ranges(units, &level->die, self, &unit->ranges)) {
				unit->scopes[unit->scope_count++] = (struct unit_scope){
					.die = level->die,
					.entry = unit->ranges.at[first].low,
					.parent = function ? NO_SCOPE : level->scope,
					.call_file =
						function ? 0
							 : die_number(&level->die, DW_AT_call_file),
					.call_line =
						function ? 0
							 : die_number(&level->die, DW_AT_call_line),
				};
				inside = self;
			} else if (function) {
				/* an abstract or declared function: its DIEs have no addresses */
				inside = NO_SCOPE;
			}
		}
		/* the tags that hold neither functions nor scopes, and that there are most of */
		if (tag != DW_TAG_enumeration_type && tag != DW_TAG_subroutine_type &&
		    tag != DW_TAG_array_type && depth + 1 < DEBUG_DEPTH_MAX &&
		    !dwarf_child(&level->die, &levels[depth + 1].die)) {
			uint32_t within = level->container;

			if (class || tag == DW_TAG_namespace)
				within = add_container(unit, offset, dwarf_diename(&level->die),
						       tag, within);
			depth++;
			levels[depth].scope = inside;
			levels[depth].container = within;
			levels[depth].function = function		      ? offset
						 : within == level->container ? level->function
									      : 0;
			continue;
		}
		while (dwarf_siblingof(&levels[depth].die, &levels[depth].die)) {
			if (!depth--) {
				free(levels);
				return;
			}
			if (levels[depth + 1].container != levels[depth].container)
				unit->containers[levels[depth + 1].container].end = offset;
		}
	}
	free(levels);
}

uint64_t debug_unit_bytes(Dwarf_Die *die)
{
	Dwarf_Off first = dwarf_dieoffset(die), next = 0;
	size_t header = dwarf_cuoffset(die);
	Dwarf_Half version = 0;
	uint8_t type = 0;
	uint64_t signature;

	dwarf_cu_info(die->cu, &version, &type, NULL, NULL, NULL, NULL, NULL);

	/* DWARF 4 has its type units in a section of their own; asking for a signature means that
	 * one */
	bool types = version == 4 && (type == DW_UT_type || type == DW_UT_split_type);

	if (dwarf_next_unit(dwarf_cu_getdwarf(die->cu), first - header, &next, &header, NULL, NULL,
			    NULL, NULL, types ? &signature : NULL, NULL) ||
	    next <= first)
		return 1u << 24;
	return next - first;
}

/* From a .dwp, or from a .dwo where libdw doesn't look. */
static bool split_elsewhere(struct debug_units *units, struct debug_unit *unit, Dwarf_Die *out)
{
	if (!units->split)
		units->split = split_create(units->path, units->module_path, units->debug_dirs);
	return units->split && split_unit(units->split, &unit->skeleton, out);
}

void debug_unit_load(struct debug_units *units, struct debug_unit *unit)
{
	Dwarf_Die split, other;
	uint8_t unit_type;

	if (unit->loaded)
		return;
	unit->loaded = true;
	/* where a skeleton's other half is missing, there are lines only */
	if (!dwarf_cu_info(unit->skeleton.cu, NULL, &unit_type, NULL, &split, NULL, NULL, NULL) &&
	    unit_type == DW_UT_skeleton) {
		if ((!split.addr || split_in_pieces(&split)) &&
		    split_elsewhere(units, unit, &other))
			split = other;
		if (split.addr && cu_add(units, split.cu, unit))
			unit->die = split;
	}

	uint64_t bytes = debug_unit_bytes(&unit->die);

	units->loaded += bytes;
	walk(units, unit, bytes);
	sort_ranges(&unit->ranges);
}

struct debug_unit *debug_unit_of(struct debug_units *units, Dwarf_Die *die)
{
	struct debug_unit *unit =
		units->by_cu_room ? cu_slot(units->by_cu, units->by_cu_room, die->cu)->unit : NULL;
	Dwarf_Die whole;

	if (!unit) { /* a type unit of a .dwo, or a unit of an alternate file */
		if (!dwarf_diecu(die, &whole, NULL, NULL))
			return NULL;
		unit = unit_add(units, &whole);
	}
	if (unit)
		debug_unit_load(units, unit);
	return unit;
}

uint32_t debug_unit_container(const struct debug_unit *unit, Dwarf_Die *die)
{
	Dwarf_Off offset = dwarf_dieoffset(die);
	size_t low = 0, high = unit->container_count;

	while (low < high) { /* first container that starts at or behind the DIE */
		size_t middle = low + (high - low) / 2;

		if (unit->containers[middle].start < offset)
			low = middle + 1;
		else
			high = middle;
	}
	/* the one before, or one that it is in */
	uint32_t at = low ? (uint32_t)low - 1 : NO_SCOPE;

	while (at != NO_SCOPE && unit->containers[at].end < offset)
		at = unit->containers[at].parent;
	return at;
}

bool debug_unit_container_die(const struct debug_unit *unit, uint32_t container, Dwarf_Die *out)
{
	Dwarf_Die *inside = (Dwarf_Die *)&unit->die;
	Dwarf_Half version = 0;
	uint8_t type = 0;
	Dwarf *dwarf = dwarf_cu_getdwarf(inside->cu);

	dwarf_cu_info(inside->cu, &version, &type, NULL, NULL, NULL, NULL, NULL);
	if (version == 4 && (type == DW_UT_type || type == DW_UT_split_type))
		return dwarf_offdie_types(dwarf, unit->containers[container].start, out);
	return dwarf_offdie(dwarf, unit->containers[container].start, out);
}
