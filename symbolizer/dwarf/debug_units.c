/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_units.c: see debug_units.h.
 *
 * The problem. libdw finds the unit and the functions of an address by dwarf_addrdie() and
 * dwarf_getscopes(). The first reads .debug_aranges, which clang doesn't write: it found 0 of 300
 * addresses. The second walks the compilation unit at each call: 1.8 ms on the average, 20 ms at
 * worst, and the second call is as slow as the first.
 *
 * The approach. Two levels, each built on demand:
 *   units   address ranges of every compilation unit, from DW_AT_ranges of its DIE (2,030 ranges
 *           in 5 ms for 81 MB of protoc)
 *   scopes  for a unit that an address falls into: the ranges of each function and inlined
 *           subroutine, with the index of the scope around it (debug_unit.c)
 * Two binary searches find an address. Each range of a function that was split into hot and cold
 * parts is an entry of its own.
 *
 * Split DWARF: the skeleton in the file has the ranges, the .dwo has the DIEs. libdw opens the .dwo
 * when the unit is requested; split.c finds one that is elsewhere, or in a .dwp. Without any the
 * line table still gives file and line. Alternate files (dwz) are opened here, because libdw
 * doesn't search the user's directories. Units without code (type units, dwz's partial ones, those
 * of a .dwo) have an entry too, found by a DIE's Dwarf_CU.
 *
 * Bounds. libdw frees its memory for requested units (lines, abbreviations) only with its Dwarf. So
 * after DEBUG_BUDGET bytes of loaded units everything is closed, and opened again at the next
 * question. Callers cache the answers.
 *
 * Not covered: units without DW_AT_ranges and without DW_AT_low_pc.
 */
#include "debug_units.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/base/hash.h"
#include "../../src/base/hash_table.h"
#include "../elf/debugfile.h"
#include "../elf/unpack.h"
#include "debug_unit.h"
#include "die.h"
#include "split.h"

enum { SLOTS = 10 };

struct unit_of_cu {
	const void *cu; /* Dwarf_CU; a unit with a .dwo has two */
	struct debug_unit *unit;
};

struct debug_units {
	char *path;
	const struct binary *file;
	struct names *names;
	const char *const *debug_dirs;
	char *module_path; /* NULL: the same as `path` */
	int fd, alt_fd;
	Dwarf *dwarf, *alt; /* NULL: closed */
	struct unpacked *unpacked; /* sections that libelf could not unpack (unpack.c) */
	/* the first main_units are the file's, in its order; the others are from .dwo and alternate
	 * files */
	VEC(struct debug_unit *) units;
	size_t main_units;
	VEC(struct unit_of_cu) by_cu;
	struct hash_table cu_table;
	struct code_ranges ranges; /* of the units */
	uint64_t loaded; /* bytes of .debug_info of the loaded units */
	bool hold;
	struct split *split; /* NULL: not needed yet */
	struct {
		const struct debug_slot *slot;
		void *kept;
	} slots[SLOTS];
};

/* ---- slots ---- */

void **debug_units_slot(struct debug_units *units, const struct debug_slot *slot)
{
	size_t at = 0;

	while (units->slots[at].slot && units->slots[at].slot != slot)
		if (++at == SLOTS)
			abort(); /* a module was added: raise SLOTS */
	units->slots[at].slot = slot;
	return &units->slots[at].kept;
}

static void free_slots(struct debug_units *units, bool all)
{
	for (size_t i = 0; i < SLOTS && units->slots[i].slot; i++) {
		if (!units->slots[i].kept || (units->slots[i].slot->stays && !all))
			continue;
		units->slots[i].slot->free(units->slots[i].kept);
		units->slots[i].kept = NULL;
	}
}

/* ---- opening and closing ---- */

static void close_dwarf(struct debug_units *units)
{
	free_slots(units, false);
	for (size_t i = 0; i < units->units.count; i++)
		debug_unit_free(units->units.at[i]);
	free(units->units.at);
	memset(&units->units, 0, sizeof(units->units));
	free(units->by_cu.at);
	memset(&units->by_cu, 0, sizeof(units->by_cu));
	hash_table_deinit(&units->cu_table);
	debug_ranges_free(&units->ranges);
	units->loaded = 0;
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

/* Opens `path` as the alternate file if its build-id is `id`. */
static bool open_alternate_at(struct debug_units *units, const char *path, const void *id,
			      size_t bytes)
{
	struct binary check;

	if (binary_open(&check, path) != BINARY_OK)
		return false;

	bool same = check.build_id_bytes == bytes && !memcmp(check.build_id, id, bytes);

	binary_close(&check);
	units->alt_fd = same ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (units->alt_fd >= 0)
		units->alt = dwarf_begin(units->alt_fd, DWARF_C_READ);
	return units->alt;
}

/* Opens the file, named by path and build-id, to which dwz moved what several files share. */
static void open_alternate(struct debug_units *units)
{
	const char *name, *slash = strrchr(units->path, '/');
	const void *id;
	ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(units->dwarf, &name, &id);
	int directory = slash ? (int)(slash - units->path) + 1 : 0;
	char *path;

	if (bytes <= 0)
		return;
	path = mem_format("%.*s%s", *name == '/' ? 0 : directory, units->path, name);
	if (!open_alternate_at(units, path, id, (size_t)bytes)) {
		free(path);
		path = debugfile_by_id(id, (size_t)bytes, units->debug_dirs);
		if (path)
			open_alternate_at(units, path, id, (size_t)bytes);
	}
	free(path);
	if (units->alt)
		dwarf_setalt(units->dwarf, units->alt);
}

static struct debug_unit *find_cu(const struct debug_units *units, const void *cu)
{
	uint32_t at = hash_table_find(&units->cu_table, hash_mix((uintptr_t)cu), i,
				      units->by_cu.at[i].cu == cu);

	return at == HASH_NONE ? NULL : units->by_cu.at[at].unit;
}

/* Registers `unit` as the unit of `cu`. */
static void add_cu(struct debug_units *units, const void *cu, struct debug_unit *unit)
{
	hash_table_add(&units->cu_table, hash_mix((uintptr_t)cu), (uint32_t)units->by_cu.count);
	*vec_push(&units->by_cu) = (struct unit_of_cu){ cu, unit };
}

static struct debug_unit *add_unit(struct debug_units *units, const Dwarf_Die *die)
{
	struct debug_unit *unit = mem_zero(1, sizeof(*unit));

	unit->skeleton = unit->die = *die;
	unit->index = (uint32_t)units->units.count;
	add_cu(units, die->cu, unit);
	*vec_push(&units->units) = unit;
	return unit;
}

static bool open_dwarf(struct debug_units *units)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	if (units->dwarf)
		return true;
	units->fd = open(units->path, O_RDONLY | O_CLOEXEC);
	units->dwarf = units->fd >= 0 ? unpacked_begin(units->fd, &units->unpacked) : NULL;
	if (!units->dwarf)
		return false;
	open_alternate(units);
	while (!dwarf_get_units(units->dwarf, cu, &cu, NULL, NULL, &die, NULL)) {
		struct debug_unit *unit = add_unit(units, &die);

		debug_ranges_add(&units->ranges, units->file, &unit->skeleton, unit->index);
	}
	units->main_units = units->units.count;
	debug_ranges_sort(&units->ranges);
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
	struct debug_units *units = mem_zero(1, sizeof(*units));

	*units = (struct debug_units){ .path = mem_text(path),
				       .file = file,
				       .names = names,
				       .debug_dirs = debug_dirs,
				       .fd = -1,
				       .alt_fd = -1 };
	if (!open_dwarf(units) || !units->ranges.all.count) {
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
	free_slots(units, true);
	free(units->path);
	free(units->module_path);
	free(units);
}

void debug_units_set_module(struct debug_units *units, const char *module_path)
{
	free(units->module_path);
	units->module_path = mem_text(module_path);
}

void debug_units_hold(struct debug_units *units, bool hold)
{
	if (hold && !units->hold)
		debug_units_ready(units); /* keeps the budget between two pieces of work */
	units->hold = hold;
}

struct names *debug_units_names(const struct debug_units *units)
{
	return units->names;
}

const struct binary *debug_units_file(const struct debug_units *units)
{
	return units->file;
}

Dwarf *debug_units_dwarf(const struct debug_units *units)
{
	return units->dwarf;
}

/* ---- units ---- */

static uint8_t unit_type(Dwarf_Die *skeleton, Dwarf_Die *split)
{
	uint8_t type = 0;

	return dwarf_cu_info(skeleton->cu, NULL, &type, NULL, split, NULL, NULL, NULL) ? 0 : type;
}

/* Finds the split unit in a .dwp, or in a .dwo where libdw doesn't look. */
static bool split_elsewhere(struct debug_units *units, struct debug_unit *unit, Dwarf_Die *out)
{
	if (!units->split)
		units->split = split_create(units->path, units->module_path, units->debug_dirs);
	return split_unit(units->split, &unit->skeleton, out);
}

void debug_units_load(struct debug_units *units, struct debug_unit *unit)
{
	Dwarf_Die split, other;

	if (unit->loaded)
		return;
	unit->loaded = true;
	/* a skeleton without its split unit has only lines */
	if (unit_type(&unit->skeleton, &split) == DW_UT_skeleton) {
		if ((!split.addr || split_in_pieces(&split)) &&
		    split_elsewhere(units, unit, &other))
			split = other;
		if (split.addr) {
			add_cu(units, split.cu, unit);
			unit->die = split;
		}
	}

	uint64_t bytes = die_unit_bytes(&unit->die);

	units->loaded += bytes;
	debug_unit_walk(unit, units->file, bytes);
}

struct debug_unit *debug_units_of(struct debug_units *units, Dwarf_Die *die)
{
	struct debug_unit *unit = find_cu(units, die->cu);
	Dwarf_Die whole;

	if (!unit) { /* a type unit of a .dwo, or a unit of an alternate file */
		if (!dwarf_diecu(die, &whole, NULL, NULL))
			return NULL;
		unit = add_unit(units, &whole);
	}
	debug_units_load(units, unit);
	return unit;
}

struct debug_unit *debug_units_at(struct debug_units *units, size_t index)
{
	struct debug_unit *unit = index < units->main_units ? units->units.at[index] : NULL;

	if (unit && unit_type(&unit->skeleton, NULL) == DW_UT_skeleton)
		debug_units_load(units, unit);
	return unit;
}

struct debug_unit *debug_units_covering(struct debug_units *units, uint64_t vaddr, size_t *at)
{
	if (*at > units->ranges.all.count)
		*at = units->ranges.all.count;
	return debug_ranges_next(&units->ranges, vaddr, at)
		       ? units->units.at[units->ranges.all.at[*at].owner]
		       : NULL;
}

/* Walks on from unit number `*index` for DEBUG_BUDGET bytes; returns the number of bytes walked. */
static uint64_t walk_some(struct debug_units *units, Dwarf *dwarf, uint64_t loaded_before,
			  size_t *index, debug_unit_fn *each, void *context)
{
	Dwarf_CU *cu = NULL;
	uint64_t bytes = 0;
	Dwarf_Die die;
	size_t at;

	for (at = 0; at < units->main_units && bytes < DEBUG_BUDGET &&
		     !dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL);
	     at++) {
		struct debug_unit *unit = units->units.at[at];

		if (at < *index)
			continue;
		if (unit_type(&unit->skeleton, NULL) == DW_UT_skeleton) {
			if (!unit->loaded && units->loaded - loaded_before > 2 * DEBUG_BUDGET)
				continue;
			debug_units_load(units, unit);
			die = unit->die;
		}

		uint64_t size = die_unit_bytes(&die);

		each(context, at, &die, size);
		bytes += size;
	}
	*index = at;
	return bytes;
}

void debug_units_walk(struct debug_units *units, uint64_t limit, debug_unit_fn *each, void *context)
{
	uint64_t whole = 0, loaded_before = units->loaded;
	size_t index = 0, before;

	do {
		int fd = open(units->path, O_RDONLY | O_CLOEXEC);
		Dwarf *dwarf = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;

		before = index;
		if (dwarf) {
			if (units->alt)
				dwarf_setalt(dwarf, units->alt);
			whole += walk_some(units, dwarf, loaded_before, &index, each, context);
			dwarf_end(dwarf);
		}
		if (fd >= 0)
			close(fd);
	} while (index > before && index < units->main_units && whole < limit);
}
