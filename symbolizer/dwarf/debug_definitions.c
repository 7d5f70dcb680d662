/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_definitions.c: see debug_definitions.h.
 *
 * A class that one unit only declares may be defined in another: clang describes a class where its
 * vtable or its constructors are, and opaque C structures are always so. And a static variable's
 * address doesn't tell its unit. One walk each over all units finds both, at the first question:
 * over namespaces and classes for definitions (76 ms for the 45 MB of protoc's DWARF, 34,384
 * definitions of 4,933 names), over functions too for variables.
 *
 * An entry is 16 bytes: 40 bits of the name's hash and 24 of the size, or an address; and the
 * position of its DIE. The name is compared when the DIE is read. Definitions that share a name and
 * differ in size are left out: C has no one-definition rule. Names are those of DW_AT_name,
 * normalised. A class of an anonymous namespace belongs to its unit, so the unit is a part of the
 * hash.
 *
 * Bounds. A walk ends after WALK_MAX bytes of .debug_info (a few seconds) or ENTRIES_MAX entries.
 * The remainder of a file of 5 GB counts as absent.
 *
 * Not covered: type units of a .dwo that no unit with a declaration refers to; classes whose names
 * lack their arguments (-gsimple-template-names) and that are defined only in another unit.
 */
#include "debug_definitions.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/hash_table.h"
#include "../../src/base/lower_bound.h"
#include "../../src/base/row_order.h"
#include "debug_unit.h"
#include "die.h"
#include "die_normalize.h"
#include "plain_name.h"

#define WALK_MAX ((uint64_t)1 << 30)
#define ENTRIES_MAX ((size_t)1 << 22)
#define NEST_MAX 64
#define BYTES_MAX 0xffffffu /* sizes from here on, and sizes that disagree */
#define TYPES_SECTION ((uint64_t)1 << 63) /* flag in `where`: the offset is one in .debug_types */
#define UNIT_SHIFT 40

/* `where`: bit 63, 23 bits of the unit's index, 40 of the DIE's offset in its section. */
struct definition_entry {
	uint64_t key; /* hash << 24 | bytes */
	uint64_t where;
};
struct global_entry {
	uint64_t address, where;
};

struct definitions {
	VEC(struct definition_entry) entries;
	struct hash_table table; /* of entries, by the hash in the key */
	VEC(struct global_entry) globals; /* sorted by address */
	bool have_definitions, have_globals;
};

struct declared_class {
	Dwarf_Off offset;
	uint64_t hash;
};

/* State of one walk. */
struct definition_walk {
	struct debug_units *units;
	struct definitions *to;
	bool globals;       /* searches variables; else definitions */
	uint64_t unit;      /* index << UNIT_SHIFT, with TYPES_SECTION */
	uint64_t steps;     /* limit of further DIEs */
	struct name_text prefix; /* "a::b::" */
	bool anonymous;     /* the prefix has an anonymous namespace */
	/* the unit's nested classes that are only declared: a definition outside refers to one by
	 * its offset */
	VEC(struct declared_class) declared;
};

static void definitions_free(void *kept)
{
	struct definitions *definitions = kept;

	free(definitions->entries.at);
	free(definitions->globals.at);
	hash_table_deinit(&definitions->table);
	free(definitions);
}

static struct definitions *definitions_of(struct debug_units *units)
{
	/* entries name DIEs by offset: they remain valid when the DWARF is closed */
	static const struct debug_slot slot = { .free = definitions_free, .stays = true };
	struct definitions **kept = (struct definitions **)debug_units_slot(units, &slot);

	if (!*kept)
		*kept = mem_zero(1, sizeof(**kept));
	return *kept;
}

static uint64_t hash_of(const char *text, uint64_t hash)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull; /* FNV-1a */
	return hash;
}

/* Returns 40 bits, never 0. */
static uint64_t hash_end(uint64_t hash, bool anonymous, uint64_t unit)
{
	if (anonymous)
		hash = (hash ^ unit) * 0x9e3779b97f4a7c15ull;
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ull;
	return (hash >> 24) | 1;
}

#define HASH_START 0xcbf29ce484222325ull

/* NULL: none has this hash. */
static struct definition_entry *find_definition(const struct definitions *in, uint64_t hash)
{
	uint32_t at = hash_table_find(&in->table, hash, i, in->entries.at[i].key >> 24 == hash);

	return at == HASH_NONE ? NULL : &in->entries.at[at];
}

static uint64_t where_of(const struct definition_walk *walk, Dwarf_Die *die)
{
	return walk->unit | (dwarf_dieoffset(die) & (((uint64_t)1 << UNIT_SHIFT) - 1));
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
	entry = find_definition(to, hash);
	if (entry) {
		if ((entry->key & BYTES_MAX) != size)
			entry->key |= BYTES_MAX;
	} else if (to->entries.count < ENTRIES_MAX) {
		hash_table_add(&to->table, hash, (uint32_t)to->entries.count);
		*vec_push(&to->entries) =
			(struct definition_entry){ hash << 24 | size, where_of(walk, die) };
	}
}

/* Returns the hash of a nested class that was declared in its class; 0: unknown. */
static uint64_t declared_hash(const struct definition_walk *walk, Dwarf_Off offset)
{
	/* they were added in order */
	size_t at = lower_bound(walk->declared.count, i, walk->declared.at[i].offset < offset);

	return at < walk->declared.count && walk->declared.at[at].offset == offset
		       ? walk->declared.at[at].hash
		       : 0;
}

static void walk_children(struct definition_walk *walk, Dwarf_Die *around, unsigned nest);

static void walk_class(struct definition_walk *walk, Dwarf_Die *die, unsigned nest)
{
	const char *name = dwarf_diename(die);
	size_t used = walk->prefix.used;
	Dwarf_Die declaration;
	uint64_t hash;

	/* clang's type units name the class around theirs only by its signature */
	if (!name && die_reference(die, DW_AT_signature, &declaration))
		name = dwarf_diename(&declaration);
	if (die_reference(die, DW_AT_specification, &declaration)) {
		hash = declaration.cu == die->cu
			       ? declared_hash(walk, dwarf_dieoffset(&declaration))
			       : 0;
		if (hash)
			add_definition(walk, die, hash);
	} else if (name && *name && *name != '<') {
		const char *ada = plain_name_ada(walk->units, die, name);

		die_normalize_text(name, &walk->prefix);
		/* Ada's name includes its scopes */
		hash = hash_of(ada != name ? ada : name_text_string(&walk->prefix), HASH_START);
		hash = hash_end(hash, walk->anonymous, walk->unit >> UNIT_SHIFT);
		if (!die_flag(die, DW_AT_declaration))
			add_definition(walk, die, hash);
		else if (used)
			*vec_push(&walk->declared) =
				(struct declared_class){ dwarf_dieoffset(die), hash };
		name_text_put(&walk->prefix, "::");
		walk_children(walk, die, nest + 1);
	}
	name_text_cut(&walk->prefix, used);
}

static void add_global(struct definition_walk *walk, Dwarf_Die *die)
{
	struct definitions *to = walk->to;
	struct debug_variable variable;

	if (to->globals.count < ENTRIES_MAX && debug_variables_static(walk->units, die, &variable))
		*vec_push(&to->globals) = (struct global_entry){ (uint64_t)variable.displacement,
								 where_of(walk, die) };
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
			name_text_put(&walk->prefix, name ? name : "(anonymous namespace)");
			name_text_put(&walk->prefix, "::");
			walk_children(walk, &child, nest + 1);
			walk->anonymous = anonymous;
			name_text_cut(&walk->prefix, used);
		} else if (walk->globals) {
			if (tag == DW_TAG_variable)
				add_global(walk, &child);
			else if (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block ||
				 tag == DW_TAG_module)
				walk_children(walk, &child, nest + 1);
		} else if (die_is_class(tag)) {
			walk_class(walk, &child, nest);
		}
	} while (die_next(&child));
}

static void walk_unit(void *context, size_t index, Dwarf_Die *die, uint64_t bytes)
{
	struct definition_walk *walk = context;

	walk->unit = (uint64_t)index << UNIT_SHIFT;
	if (die_in_types_section(die))
		walk->unit |= TYPES_SECTION;
	walk->steps = bytes;
	walk->declared.count = 0;
	name_text_cut(&walk->prefix, 0);
	walk_children(walk, die, 0);
}

static void walk_all(struct definition_walk *walk)
{
	debug_units_walk(walk->units, WALK_MAX, walk_unit, walk);
	name_text_free(&walk->prefix);
	free(walk->declared.at);
}

/* Reads the DIE of an entry. */
static bool die_at(struct debug_units *units, uint64_t where, Dwarf_Die *out)
{
	Dwarf_Off offset = where & (((uint64_t)1 << UNIT_SHIFT) - 1);
	struct debug_unit *unit =
		debug_units_at(units, (size_t)(where & ~TYPES_SECTION) >> UNIT_SHIFT);
	Dwarf *dwarf = unit ? dwarf_cu_getdwarf(unit->die.cu) : NULL;

	return unit && (where & TYPES_SECTION ? dwarf_offdie_types(dwarf, offset, out)
					      : dwarf_offdie(dwarf, offset, out)) != NULL;
}

/* True if a name with scopes ends in the DW_AT_name `own`. */
static bool ends_in(const char *name, const char *own)
{
	struct name_text text = { 0 };
	size_t length = strlen(name);
	bool good;

	die_normalize_text(own, &text);
	good = text.at && text.used <= length && !strcmp(name + length - text.used, text.at) &&
	       (text.used == length || name[length - text.used - 1] == ':');
	name_text_free(&text);
	return good;
}

bool debug_definitions_class(struct debug_units *units, const char *name, Dwarf_Die *near,
			     Dwarf_Die *out)
{
	struct definitions *definitions =
		near || debug_units_ready(units) ? definitions_of(units) : NULL;
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
		struct debug_unit *of = near ? debug_units_of(units, near) : NULL;

		if (!of)
			return false;
		unit = of->index;
	}
	entry = find_definition(definitions, hash_end(hash_of(name, HASH_START), anonymous, unit));
	if (!entry || (entry->key & BYTES_MAX) == BYTES_MAX || !die_at(units, entry->where, out) ||
	    !die_is_class(dwarf_tag(out)))
		return false;
	declared = die_origin(out);
	own = plain_name_ada(units, &declared, dwarf_diename(&declared));
	return own && ends_in(name, own);
}

ORDER_BY(by_address, struct global_entry, ORDER_UP(address) ?: ORDER_UP(where))

bool debug_definitions_global(struct debug_units *units, uint64_t vaddr, struct debug_variable *out)
{
	struct definitions *definitions = debug_units_ready(units) ? definitions_of(units) : NULL;
	size_t low;

	if (!definitions)
		return false;
	if (!definitions->have_globals) {
		struct definition_walk walk = { .units = units,
						.to = definitions,
						.globals = true };

		definitions->have_globals = true;
		walk_all(&walk);
		if (definitions->globals.count)
			qsort(definitions->globals.at, definitions->globals.count,
			      sizeof(*definitions->globals.at), by_address);
	}
	/* the first one after the address */
	low = lower_bound(definitions->globals.count, i,
			  definitions->globals.at[i].address <= vaddr);
	/* several DIEs may describe one variable */
	for (size_t i = low; i-- > 0 && definitions->globals.at[i].address ==
						definitions->globals.at[low - 1].address;) {
		Dwarf_Word bytes = 0;
		Dwarf_Die die;

		if (die_at(units, definitions->globals.at[i].where, &die) &&
		    debug_variables_static(units, &die, out) &&
		    (uint64_t)out->displacement <= vaddr) {
			if (dwarf_aggregate_size(&out->type, &bytes) || !bytes)
				bytes = 1;
			if (vaddr - (uint64_t)out->displacement < bytes)
				return true;
		}
	}
	return false;
}
