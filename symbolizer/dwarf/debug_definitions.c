/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_definitions.c: the classes and static variables of a whole file, by name and by address.
 *
 * A class that is only declared in one unit may be defined in another: clang describes a class
 * where its vtable or its constructors are, and everybody's opaque C structures are so. And a
 * static variable's address says nothing about its unit. Both are found by one walk each over the
 * units, the first time that somebody asks: over namespaces and classes for definitions (76 ms for
 * the 45 MB of protoc's DWARF, 34,384 definitions of 4,933 names), over functions too for
 * variables.
 *
 * An entry is 16 bytes: 40 bits of the name's hash and 24 of the size, or an address; and where its
 * DIE is. The name is compared when the DIE is read. Of definitions that share a name and differ in
 * size (C has no one-definition rule) none is given. Names are those of DW_AT_name, normalised; a
 * class of an anonymous namespace is its unit's, so that the unit goes into the hash.
 *
 * Bounds. A walk has a Dwarf of its own, which is closed and opened again every DEBUG_BUDGET bytes,
 * since libdw keeps the abbreviations of every unit that it has seen. It ends after WALK_MAX bytes
 * of .debug_info (a few seconds) or ENTRIES_MAX entries (64 MB): of a file of 5 GB the rest is as
 * if it were not there. Units of .dwo files are walked in the main Dwarf, up to twice its budget.
 *
 * Not covered: type units of a .dwo that no unit with a declaration refers to; classes whose names
 * lack their arguments (-gsimple-template-names) and that are defined in another unit only.
 */
#include <dwarf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "die_name.h"
#include "debug_unit.h"

#define WALK_MAX ((uint64_t)1 << 30)
#define ENTRIES_MAX ((size_t)1 << 22)
#define NEST_MAX 64
#define BYTES_MAX 0xffffffu /* larger ones, and those that disagree */
#define TYPES_SECTION ((uint64_t)1 << 63) /* of `where`: the offset is one in .debug_types */
#define UNIT_SHIFT 40

/* `where`: bit 63, 23 bits of the unit's index, 40 of the DIE's offset in its section. */
struct definition_entry {
	uint64_t key; /* hash << 24 | bytes; 0: free */
	uint64_t where;
};
struct global_entry {
	uint64_t address, where;
};

struct definitions {
	struct definition_entry *entries; /* open addressing. Invariant: room is 0 or a power of
	                                   * two, and at least twice the count */
	size_t count, room;
	struct global_entry *globals; /* by address */
	size_t global_count, global_room;
	bool have_definitions, have_globals;
};

/* One walk. */
struct definition_walk {
	struct debug_units *units;
	struct definitions *to;
	bool globals;       /* what it looks for: variables, or definitions */
	uint64_t unit;      /* index << UNIT_SHIFT, with TYPES_SECTION */
	uint64_t steps;     /* how many DIEs may still come */
	struct name_text prefix; /* "a::b::" */
	bool anonymous;     /* the prefix has an anonymous namespace */
	struct declared_class {
		Dwarf_Off offset;
		uint64_t hash;
	} *declared; /* the unit's nested classes that are only declared: a definition outside
	              * refers to one by its offset */
	size_t declared_count, declared_room;
};

void debug_definitions_free(struct definitions *definitions)
{
	if (!definitions)
		return;
	free(definitions->entries);
	free(definitions->globals);
	free(definitions);
}

static uint64_t hash_of(const char *text, uint64_t hash)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull; /* FNV-1a */
	return hash;
}

/* Never 0, and 40 bits. */
static uint64_t hash_end(uint64_t hash, bool anonymous, uint64_t unit)
{
	if (anonymous)
		hash = (hash ^ unit) * 0x9e3779b97f4a7c15ull;
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ull;
	return (hash >> 24) | 1;
}

#define HASH_START 0xcbf29ce484222325ull

static struct definition_entry *slot(const struct definitions *to, uint64_t hash)
{
	for (size_t at = (size_t)hash >> 1;; at++) {
		struct definition_entry *entry = &to->entries[at & (to->room - 1)];

		if (!entry->key || entry->key >> 24 == hash)
			return entry;
	}
}

static bool grow(struct definitions *to)
{
	struct definitions larger = { .room = to->room ? to->room * 2 : 1024 };

	if (to->count >= ENTRIES_MAX)
		return false;
	larger.entries = calloc(larger.room, sizeof(*larger.entries));
	if (!larger.entries)
		return false;
	for (size_t i = 0; i < to->room; i++)
		if (to->entries[i].key)
			*slot(&larger, to->entries[i].key >> 24) = to->entries[i];
	free(to->entries);
	to->entries = larger.entries;
	to->room = larger.room;
	return true;
}

static void add_definition(struct definition_walk *walk, Dwarf_Die *die, uint64_t hash)
{
	struct definitions *to = walk->to;
	Dwarf_Attribute attribute;
	Dwarf_Word size;
	struct definition_entry *entry;

	if (!dwarf_attr(die, DW_AT_byte_size, &attribute) || dwarf_formudata(&attribute, &size))
		return;
	if (size >= BYTES_MAX)
		size = BYTES_MAX;
	if (to->count * 2 >= to->room && !grow(to))
		return;
	entry = slot(to, hash);
	if (!entry->key) {
		*entry = (struct definition_entry){
			hash << 24 | size,
			walk->unit | (dwarf_dieoffset(die) & (((uint64_t)1 << UNIT_SHIFT) - 1))
		};
		to->count++;
	} else if ((entry->key & BYTES_MAX) != size) {
		entry->key |= BYTES_MAX;
	}
}

/* The hash of a nested class that was declared in its class; 0: unknown. */
static uint64_t declared_hash(const struct definition_walk *walk, Dwarf_Off offset)
{
	size_t low = 0, high = walk->declared_count;

	while (low < high) { /* they were met in order */
		size_t middle = low + (high - low) / 2;

		if (walk->declared[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < walk->declared_count && walk->declared[low].offset == offset
		       ? walk->declared[low].hash
		       : 0;
}

static void walk_children(struct definition_walk *walk, Dwarf_Die *around, unsigned nest);

static void cut_prefix(struct definition_walk *walk, size_t used)
{
	walk->prefix.used = used;
	if (walk->prefix.at)
		walk->prefix.at[used] = 0;
}

static void walk_class(struct definition_walk *walk, Dwarf_Die *die, unsigned nest)
{
	const char *name = dwarf_diename(die);
	size_t used = walk->prefix.used;
	Dwarf_Die declaration;
	uint64_t hash;

	/* clang's type units name a class around theirs by its signature only */
	if (!name && die_reference(die, DW_AT_signature, &declaration))
		name = dwarf_diename(&declaration);
	if (die_reference(die, DW_AT_specification, &declaration)) {
		hash = declaration.cu == die->cu
			       ? declared_hash(walk, dwarf_dieoffset(&declaration))
			       : 0;
		if (hash)
			add_definition(walk, die, hash);
	} else if (name && *name && *name != '<') {
		die_normalize_text(name, &walk->prefix);
		hash = hash_end(hash_of(walk->prefix.at ? walk->prefix.at : "", HASH_START),
				walk->anonymous, walk->unit >> UNIT_SHIFT);
		if (!die_flag(die, DW_AT_declaration))
			add_definition(walk, die, hash);
		else if (used && debug_reserve(&walk->declared, walk->declared_count,
					       &walk->declared_room, sizeof(*walk->declared)))
			walk->declared[walk->declared_count++] =
				(struct declared_class){ dwarf_dieoffset(die), hash };
		text_put(&walk->prefix, "::");
		walk_children(walk, die, nest + 1);
	}
	cut_prefix(walk, used);
}

static void add_global(struct definition_walk *walk, Dwarf_Die *die)
{
	struct definitions *to = walk->to;
	struct debug_variable variable;

	if (to->global_count < ENTRIES_MAX && debug_static_variable(walk->units, die, &variable) &&
	    debug_reserve(&to->globals, to->global_count, &to->global_room, sizeof(*to->globals)))
		to->globals[to->global_count++] = (struct global_entry){
			(uint64_t)variable.displacement,
			walk->unit | (dwarf_dieoffset(die) & (((uint64_t)1 << UNIT_SHIFT) - 1))
		};
}

static void walk_children(struct definition_walk *walk, Dwarf_Die *around, unsigned nest)
{
	Dwarf_Die child;

	if (nest > NEST_MAX || dwarf_child(around, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if (!walk->steps)
			return;
		walk->steps--;
		if (tag == DW_TAG_namespace) {
			const char *name = dwarf_diename(&child);
			bool anonymous = walk->anonymous;
			size_t used = walk->prefix.used;

			walk->anonymous = anonymous || !name;
			text_put(&walk->prefix, name ? name : "(anonymous namespace)");
			text_put(&walk->prefix, "::");
			walk_children(walk, &child, nest + 1);
			walk->anonymous = anonymous;
			cut_prefix(walk, used);
		} else if (walk->globals) {
			if (tag == DW_TAG_variable)
				add_global(walk, &child);
			else if (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block)
				walk_children(walk, &child, nest + 1);
		} else if (die_is_class(tag)) {
			walk_class(walk, &child, nest);
		}
	} while (die_next(&child));
}

static void walk_unit(struct definition_walk *walk, Dwarf_Die *die, size_t index, uint64_t bytes)
{
	Dwarf_Half version = 0;
	uint8_t type = 0;

	dwarf_cu_info(die->cu, &version, &type, NULL, NULL, NULL, NULL, NULL);
	walk->unit = (uint64_t)index << UNIT_SHIFT;
	if (version == 4 && (type == DW_UT_type || type == DW_UT_split_type))
		walk->unit |= TYPES_SECTION;
	walk->steps = bytes;
	walk->declared_count = 0;
	cut_prefix(walk, 0);
	walk_children(walk, die, 0);
}

/* All units of the file, in the order of units->units. */
static void walk_all(struct definition_walk *walk)
{
	struct debug_units *units = walk->units;
	size_t index = 0, main_units = units->main_units;
	uint64_t whole = 0, split = units->loaded;

	while (index < main_units && whole < WALK_MAX) {
		int fd = open(units->path, O_RDONLY | O_CLOEXEC);
		Dwarf *dwarf = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;
		Dwarf_CU *cu = NULL;
		uint64_t bytes = 0;
		Dwarf_Die die;
		size_t at;

		if (dwarf && units->alt)
			dwarf_setalt(dwarf, units->alt);
		for (at = 0; dwarf && at < main_units && bytes < DEBUG_BUDGET &&
			     !dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL);
		     at++) {
			struct debug_unit *unit = units->units[at];
			uint8_t type = 0;
			uint64_t size;

			if (at < index)
				continue;
			dwarf_cu_info(unit->skeleton.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL);
			if (type == DW_UT_skeleton) {
				if (!unit->loaded && units->loaded - split > 2 * DEBUG_BUDGET)
					continue;
				debug_unit_load(units, unit);
				die = unit->die;
			}
			size = debug_unit_bytes(&die);
			walk_unit(walk, &die, at, size);
			bytes += size;
		}
		if (dwarf)
			dwarf_end(dwarf);
		if (fd >= 0)
			close(fd);
		if (at <= index)
			break;
		index = at;
		whole += bytes;
	}
	text_free(&walk->prefix);
	free(walk->declared);
}

static struct definitions *definitions_of(struct debug_units *units)
{
	if (!units->definitions)
		units->definitions = calloc(1, sizeof(*units->definitions));
	return units->definitions;
}

/* The DIE of an entry, and its unit's. */
static bool die_at(struct debug_units *units, uint64_t where, Dwarf_Die *out)
{
	size_t index = (size_t)(where & ~TYPES_SECTION) >> UNIT_SHIFT;
	Dwarf_Off offset = where & (((uint64_t)1 << UNIT_SHIFT) - 1);
	struct debug_unit *unit = index < units->main_units ? units->units[index] : NULL;
	uint8_t type = 0;
	Dwarf *dwarf;

	if (!unit)
		return false;
	dwarf_cu_info(unit->skeleton.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL);
	if (type == DW_UT_skeleton)
		debug_unit_load(units, unit);
	dwarf = dwarf_cu_getdwarf(unit->die.cu);
	return (where & TYPES_SECTION ? dwarf_offdie_types(dwarf, offset, out)
				      : dwarf_offdie(dwarf, offset, out)) != NULL;
}

/* Does a name with scopes end in what DW_AT_name says? */
static bool ends_in(const char *name, const char *own)
{
	struct name_text text = { 0 };
	size_t length = strlen(name);
	bool good;

	die_normalize_text(own, &text);
	good = text.at && text.used <= length && !strcmp(name + length - text.used, text.at) &&
	       (text.used == length || name[length - text.used - 1] == ':');
	text_free(&text);
	return good;
}

bool debug_definition(struct debug_units *units, const char *name, Dwarf_Die *near, Dwarf_Die *out)
{
	struct definitions *definitions = definitions_of(units);
	bool anonymous = strstr(name, "(anonymous namespace)::") != NULL;
	uint64_t unit = 0;
	const struct definition_entry *entry;
	Dwarf_Die declared;
	const char *own;

	if (!definitions)
		return false;
	if (!definitions->have_definitions) {
		struct definition_walk walk = { .units = units, .to = definitions };

		definitions->have_definitions = true;
		walk_all(&walk);
	}
	if (anonymous) {
		struct debug_unit *of = near ? debug_unit_of(units, near) : NULL;

		if (!of)
			return false;
		unit = of->index;
	}
	if (!definitions->room)
		return false;
	entry = slot(definitions, hash_end(hash_of(name, HASH_START), anonymous, unit));
	if (!entry->key || (entry->key & BYTES_MAX) == BYTES_MAX ||
	    !die_at(units, entry->where, out) || !die_is_class(dwarf_tag(out)))
		return false;
	declared = die_origin(out);
	own = dwarf_diename(&declared);
	return own && ends_in(name, own);
}

bool debug_units_definition(struct debug_units *units, const char *name, Dwarf_Die *out)
{
	return debug_units_ready(units) && debug_definition(units, name, NULL, out);
}

static int by_address(const void *a, const void *b)
{
	const struct global_entry *x = a, *y = b;

	return x->address < y->address	 ? -1
	       : x->address > y->address ? 1
	       : x->where < y->where	 ? -1
					 : x->where > y->where;
}

bool debug_units_global(struct debug_units *units, uint64_t vaddr, struct debug_variable *out)
{
	struct definitions *definitions = debug_units_ready(units) ? definitions_of(units) : NULL;
	size_t low = 0, high;

	if (!definitions)
		return false;
	if (!definitions->have_globals) {
		struct definition_walk walk = { .units = units,
						.to = definitions,
						.globals = true };

		definitions->have_globals = true;
		walk_all(&walk);
		if (definitions->global_count)
			qsort(definitions->globals, definitions->global_count,
			      sizeof(*definitions->globals), by_address);
	}
	for (high = definitions->global_count; low < high;) { /* the first one behind the address */
		size_t middle = low + (high - low) / 2;

		if (definitions->globals[middle].address <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}

	/* several DIEs may describe one variable */
	for (size_t i = low;
	     i-- > 0 && definitions->globals[i].address == definitions->globals[low - 1].address;) {
		Dwarf_Word bytes = 0;
		Dwarf_Die die;

		if (die_at(units, definitions->globals[i].where, &die) &&
		    debug_static_variable(units, &die, out) &&
		    (uint64_t)out->displacement <= vaddr) {
			if (dwarf_aggregate_size(&out->type, &bytes) || !bytes)
				bytes = 1;
			if (vaddr - (uint64_t)out->displacement < bytes)
				return true;
		}
	}
	return false;
}
