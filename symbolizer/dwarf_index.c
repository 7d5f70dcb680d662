/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_index.c: function, file, line and inline chain of an address.
 *
 * The problem. libdw has dwarf_addrdie and dwarf_getscopes for this. The first reads .debug_aranges, which clang doesn't write: 0 of 300
 * addresses found. The second walks the compilation unit at each call: 1.8 ms on the average, 20 ms at worst, the second time as slow
 * as the first.
 *
 * The approach. Two levels, each built when it is asked for:
 *   units     address ranges of every compilation unit, from DW_AT_ranges of its DIE (2,030 ranges in 5 ms for 81 MB of protoc)
 *   scopes    for a unit that an address falls into: the ranges of each function and inlined subroutine, with the index of the
 *             scope around it, from one walk of its DIEs (0.1 µs a DIE)
 * An address is looked up by two binary searches. The innermost scope that covers it gives the name of the first frame; the line table
 * gives its line; call_file and call_line of a scope give the place in the scope around it. A function that was split into hot and cold
 * parts has several ranges, each of which is an entry here.
 *
 * Split DWARF: the skeleton in the file has the ranges, the .dwo has the DIEs. libdw opens the .dwo when the unit is asked for, and if
 * it isn't there the line table still gives file and line. Alternate files (dwz) are opened here, to look in the user's directories too.
 *
 * Bounds. The walk of a unit stops after as many DIEs as it has bytes, so that a DW_AT_sibling that points back can't make it endless, and
 * at depth 512. What libdw keeps for the units that were asked for (lines, abbreviations) is only freed with its Dwarf: when we have
 * loaded DWARF_BUDGET bytes of units, everything is closed and opened again at the next question. Callers keep the answers.
 *
 * Not covered: .dwp (elfutils 0.188 can't read it), units without DW_AT_ranges and without DW_AT_low_pc.
 */
#include "dwarf_index.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debugfile.h"

/* Bytes of .debug_info of the loaded units. libdw and the scopes take about 4 times that. */
#define DWARF_BUDGET ((uint64_t)64 << 20)
#define DEPTH_MAX 512
#define RANGES_MAX (1u << 22)
#define NO_SCOPE UINT32_MAX

/* One range of one scope (or of one unit). Invariant: sorted by low, at one low the larger first; reach as in symtab.h. */
struct range {
	uint64_t low, high, reach;
	uint32_t owner; /* index of the scope, or of the unit */
	uint32_t order; /* in which it was met: an outer scope before an inner one */
};

struct ranges {
	struct range *at;
	size_t count, room;
};

struct scope {
	Dwarf_Die die;
	const char *name; /* demangled; "" unknown; NULL not asked yet */
	uint32_t parent;  /* the scope that this one was inlined into; NO_SCOPE for a function */
	uint32_t call_file, call_line;
	bool bare; /* the name isn't a demangled one */
};

/*
 * A namespace or class: what stands before "::" in the name of a function without a linkage name (gcc gives none to what has internal
 * linkage). It holds the DIEs whose offsets are in [start, end]; that is how a declaration finds the scopes it is in.
 */
struct container {
	Dwarf_Off start, end;
	const char *name; /* in the file; NULL: anonymous */
	uint32_t parent;  /* NO_SCOPE: none */
};

struct unit {
	Dwarf_Die skeleton; /* the unit's DIE in the file */
	Dwarf_Die die;      /* the DIE with the content: the same, or the .dwo's */
	bool loaded;
	struct scope *scopes;
	size_t scope_count, scope_room;
	struct container *containers; /* by start */
	size_t container_count, container_room;
	struct ranges ranges;
};

struct dwarf_index {
	char *path;
	const struct elf_file *file;
	struct names *names;
	const char *const *debug_dirs;
	int fd, alt_fd;
	Dwarf *dwarf, *alt; /* NULL: closed */
	struct unit *units;
	size_t unit_count, unit_room;
	struct ranges ranges;
	uint64_t loaded; /* bytes of the units in `units` that are loaded */
};

/* Makes room for one more element of `size` bytes. */
static bool reserve(void *array, size_t count, size_t *room, size_t size)
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
static bool add_ranges(const struct dwarf_index *index, Dwarf_Die *die, uint32_t owner, struct ranges *ranges)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	bool any = false;

	while (ranges->count < RANGES_MAX && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (high <= low || !(elf_file_flags(index->file, low) & PF_X))
			continue;
		if (!reserve(&ranges->at, ranges->count, &ranges->room, sizeof(*ranges->at)))
			break;
		ranges->at[ranges->count] = (struct range){ low, high, 0, owner, (uint32_t)ranges->count };
		ranges->count++;
		any = true;
	}
	return any;
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_ranges(struct ranges *ranges)
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

/* The last range that covers `vaddr` among those before `*at` (start with the count); false when there is none. */
static bool next_range(const struct ranges *ranges, uint64_t vaddr, size_t *at)
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

static void close_dwarf(struct dwarf_index *index)
{
	for (size_t i = 0; i < index->unit_count; i++) {
		free(index->units[i].scopes);
		free(index->units[i].containers);
		free(index->units[i].ranges.at);
	}
	free(index->units);
	free(index->ranges.at);
	index->units = NULL;
	index->unit_count = index->unit_room = 0;
	memset(&index->ranges, 0, sizeof(index->ranges));
	index->loaded = 0;
	if (index->dwarf)
		dwarf_end(index->dwarf);
	if (index->alt)
		dwarf_end(index->alt);
	index->dwarf = index->alt = NULL;
	if (index->fd >= 0)
		close(index->fd);
	if (index->alt_fd >= 0)
		close(index->alt_fd);
	index->fd = index->alt_fd = -1;
}

/* dwz moves what several files share into another file, named by path and build-id. */
static void open_alternate(struct dwarf_index *index)
{
	const char *name;
	const void *id;
	ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(index->dwarf, &name, &id);
	char *path = NULL;

	if (bytes <= 0)
		return;
	if (*name == '/') {
		path = strdup(name);
	} else {
		const char *slash = strrchr(index->path, '/');
		size_t directory = slash ? (size_t)(slash - index->path) + 1 : 0;

		path = calloc(1, directory + strlen(name) + 1);
		if (path)
			strcpy((char *)memcpy(path, index->path, directory) + directory, name);
	}
	for (int pass = 0; pass < 2 && !index->alt; pass++) {
		struct elf_file check;

		if (pass) {
			free(path);
			path = debugfile_by_id(id, (size_t)bytes, index->debug_dirs);
		}
		if (!path || elf_file_open(&check, path) != ELF_OPEN_OK)
			continue;

		bool same = check.build_id_bytes == (size_t)bytes && !memcmp(check.build_id, id, (size_t)bytes);

		elf_file_close(&check);
		index->alt_fd = same ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		if (index->alt_fd >= 0)
			index->alt = dwarf_begin(index->alt_fd, DWARF_C_READ);
	}
	free(path);
	if (index->alt)
		dwarf_setalt(index->dwarf, index->alt);
}

static bool open_dwarf(struct dwarf_index *index)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	if (index->dwarf)
		return true;
	index->fd = open(index->path, O_RDONLY | O_CLOEXEC);
	index->dwarf = index->fd >= 0 ? dwarf_begin(index->fd, DWARF_C_READ) : NULL;
	if (!index->dwarf)
		return false;
	open_alternate(index);
	while (!dwarf_get_units(index->dwarf, cu, &cu, NULL, NULL, &die, NULL)) {
		if (!reserve(&index->units, index->unit_count, &index->unit_room, sizeof(*index->units)))
			break;
		if (!add_ranges(index, &die, (uint32_t)index->unit_count, &index->ranges))
			continue;
		index->units[index->unit_count] = (struct unit){ .skeleton = die, .die = die };
		index->unit_count++;
	}
	sort_ranges(&index->ranges);
	return true;
}

struct dwarf_index *dwarf_index_create(const char *path, const struct elf_file *file, struct names *names,
				       const char *const *debug_dirs)
{
	struct dwarf_index *index = calloc(1, sizeof(*index));

	if (!index)
		return NULL;
	*index = (struct dwarf_index){ .path = strdup(path), .file = file, .names = names, .debug_dirs = debug_dirs,
				       .fd = -1, .alt_fd = -1 };
	if (!index->path || !open_dwarf(index) || !index->ranges.count) {
		dwarf_index_destroy(index);
		return NULL;
	}
	return index;
}

void dwarf_index_destroy(struct dwarf_index *index)
{
	if (!index)
		return;
	close_dwarf(index);
	free(index->path);
	free(index);
}

static uint32_t number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static bool is_container(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* Returns the new container's index; without memory, its parent's. */
static uint32_t add_container(struct unit *unit, Dwarf_Die *die, Dwarf_Off offset, uint32_t parent)
{
	if (!reserve(&unit->containers, unit->container_count, &unit->container_room, sizeof(*unit->containers)))
		return parent;
	unit->containers[unit->container_count] = (struct container){ offset, offset, dwarf_diename(die), parent };
	return (uint32_t)unit->container_count++;
}

/* Walks the unit's DIEs and collects its scopes and containers. */
static void walk(struct dwarf_index *index, struct unit *unit, uint64_t limit)
{
	struct level {
		Dwarf_Die die;
		uint32_t scope;     /* around the level's DIEs */
		uint32_t container; /* likewise */
	} *levels = calloc(DEPTH_MAX, sizeof(*levels));
	size_t depth = 0;

	if (!levels || dwarf_child(&unit->die, &levels[0].die)) {
		free(levels);
		return;
	}
	levels[0].scope = levels[0].container = NO_SCOPE;
	for (uint64_t steps = 0; steps < limit; steps++) {
		struct level *level = &levels[depth];
		int tag = dwarf_tag(&level->die);
		uint32_t inside = level->scope, within = level->container;
		Dwarf_Off offset = dwarf_dieoffset(&level->die);

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			bool function = tag == DW_TAG_subprogram;
			uint32_t self = (uint32_t)unit->scope_count;

			if (!reserve(&unit->scopes, unit->scope_count, &unit->scope_room, sizeof(*unit->scopes)))
				break;
			if (add_ranges(index, &level->die, self, &unit->ranges)) {
				unit->scopes[unit->scope_count++] = (struct scope){
					.die = level->die,
					.parent = function ? NO_SCOPE : level->scope,
					.call_file = function ? 0 : number(&level->die, DW_AT_call_file),
					.call_line = function ? 0 : number(&level->die, DW_AT_call_line),
				};
				inside = self;
			} else if (function) {
				inside = NO_SCOPE; /* an abstract or declared function: its DIEs have no addresses */
			}
		}
		/* the tags that hold neither functions nor scopes, and that there are most of */
		if (tag != DW_TAG_enumeration_type && tag != DW_TAG_subroutine_type && tag != DW_TAG_array_type &&
		    depth + 1 < DEPTH_MAX && !dwarf_child(&level->die, &levels[depth + 1].die)) {
			if (is_container(tag))
				within = add_container(unit, &level->die, offset, level->container);
			depth++;
			levels[depth].scope = inside;
			levels[depth].container = within;
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

static void load_unit(struct dwarf_index *index, struct unit *unit)
{
	Dwarf_Die split;
	uint8_t unit_type;
	Dwarf_Off first = 0, next = 0;
	size_t header;

	unit->loaded = true;
	/* where a skeleton's .dwo is missing, `split` stays empty and there are lines only */
	if (!dwarf_cu_info(unit->skeleton.cu, NULL, &unit_type, NULL, &split, NULL, NULL, NULL) && unit_type == DW_UT_skeleton &&
	    split.addr)
		unit->die = split;
	first = dwarf_dieoffset(&unit->die);
	header = dwarf_cuoffset(&unit->die);
	if (dwarf_nextcu(dwarf_cu_getdwarf(unit->die.cu), first - header, &next, &header, NULL, NULL, NULL) || next <= first)
		next = first + (1u << 24);
	index->loaded += next - first;
	walk(index, unit, next - first);
	sort_ranges(&unit->ranges);
}

/* "a::b::" of containers[at], into `out`, as far as there is room. Returns the length. */
static size_t container_prefix(const struct unit *unit, uint32_t at, char *out, size_t room, unsigned depth)
{
	const struct container *container = &unit->containers[at];
	size_t used = container->parent != NO_SCOPE && depth < DEPTH_MAX ?
			      container_prefix(unit, container->parent, out, room, depth + 1) : 0;
	int more = snprintf(out + used, room - used, "%s::", container->name ? container->name : "(anonymous namespace)");

	return more > 0 && (size_t)more < room - used ? used + (size_t)more : used;
}

/* The name with its scopes, of a function that has no linkage name; they are those of the declaration that it refers to. */
static const char *qualified_name(struct dwarf_index *index, const struct unit *unit, Dwarf_Die *function)
{
	Dwarf_Die die = *function, next;
	Dwarf_Attribute attribute;
	const char *name = NULL;
	char text[2048];
	size_t low = 0, high = unit->container_count;

	for (int hops = 0; hops < 16; hops++) {
		if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) && !dwarf_attr(&die, DW_AT_specification, &attribute))
			break;
		if (!dwarf_formref_die(&attribute, &next))
			break;
		die = next;
	}
	name = dwarf_diename(&die);
	if (!name && dwarf_attr_integrate(function, DW_AT_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (!name || die.cu != unit->die.cu)
		return name;

	Dwarf_Off offset = dwarf_dieoffset(&die);

	while (low < high) { /* first container that starts after the declaration */
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
	if (at == NO_SCOPE)
		return name;
	low = container_prefix(unit, at, text, sizeof(text), 0);
	snprintf(text + low, sizeof(text) - low, "%s", name);
	return names_text(index->names, text);
}

/* The name of a function: linkage names are whole (scopes, template arguments, parameters), plain ones are the C function's. */
static const char *scope_name(struct dwarf_index *index, const struct unit *unit, struct scope *scope)
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
		name = qualified_name(index, unit, &scope->die);
	scope->name = name ? names_demangled(index->names, name) : "";
	if (!scope->name)
		scope->name = "";
	return *scope->name ? scope->name : NULL;
}

static void place_of_address(struct dwarf_index *index, struct unit *unit, uint64_t vaddr, struct sym_frame *out)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->skeleton, vaddr);
	int number_in_file = 0;

	if (!line)
		return;
	if (!dwarf_lineno(line, &number_in_file) && number_in_file > 0)
		out->line = (uint32_t)number_in_file;
	out->file = names_text(index->names, dwarf_linesrc(line, NULL, NULL));
}

static void place_of_call(struct dwarf_index *index, struct unit *unit, const struct scope *scope, struct sym_frame *out)
{
	Dwarf_Files *files;
	size_t count;

	out->line = scope->call_line;
	if ((!dwarf_getsrcfiles(&unit->die, &files, &count) || !dwarf_getsrcfiles(&unit->skeleton, &files, &count)) &&
	    scope->call_file < count)
		out->file = names_text(index->names, dwarf_filesrc(files, scope->call_file, NULL, NULL));
}

/* The chain of scopes that cover `vaddr` in `unit`. Returns the number of frames, 0 when no function covers it. */
static size_t unit_frames(struct dwarf_index *index, struct unit *unit, uint64_t vaddr, struct sym_frame *out, size_t room, bool *bare)
{
	size_t at = unit->ranges.count, count = 0;

	if (!next_range(&unit->ranges, vaddr, &at))
		return 0;
	/* of ranges that start and end together the inner scope was met last */
	struct scope *scope = &unit->scopes[unit->ranges.at[at].owner];

	place_of_address(index, unit, vaddr, &out[0]);
	while (count < room) {
		out[count].function = scope_name(index, unit, scope);
		out[count].inlined = scope->parent != NO_SCOPE;
		*bare = scope->bare && scope->parent == NO_SCOPE;
		count++;
		if (scope->parent == NO_SCOPE)
			break;
		if (count < room)
			place_of_call(index, unit, scope, &out[count]);
		scope = &unit->scopes[scope->parent];
	}
	return count;
}

size_t dwarf_index_frames(struct dwarf_index *index, uint64_t vaddr, struct sym_frame *out, size_t room, bool *bare)
{
	struct unit *lines = NULL;

	*bare = false;
	if (!room)
		return 0;
	memset(out, 0, room * sizeof(*out));
	if (index->loaded > DWARF_BUDGET)
		close_dwarf(index);
	if (!open_dwarf(index))
		return 0;
	for (size_t at = index->ranges.count; next_range(&index->ranges, vaddr, &at);) {
		struct unit *unit = &index->units[index->ranges.at[at].owner];

		if (!unit->loaded)
			load_unit(index, unit);

		size_t count = unit_frames(index, unit, vaddr, out, room, bare);

		if (count)
			return count;
		if (!lines)
			lines = unit;
	}
	/* assembly, or a .dwo that is gone: a line without a function */
	if (lines)
		place_of_address(index, lines, vaddr, &out[0]);
	return out[0].file ? 1 : 0;
}
