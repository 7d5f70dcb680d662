/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_twins.c: see debug_twins.h.
 *
 * Identical code folding (--icf of lld and gold) keeps one of several functions with equal code,
 * and gives its address to the symbols of all. The debug information has all of them: gold
 * relocates the others' addresses to the kept code, lld writes 0 or 1 in their place. An address
 * finds only one of them, so the others are searched by the names that the symbol table has at the
 * address.
 *
 * Two symbols at one address are folded functions only if each has a DIE with code of its own.
 * Aliases don't: a declared one, the complete and the base form of a constructor, functions that
 * the compiler itself merged.
 *
 * The index has, for each symbol that shares its address, the position of the DIE of this name and
 * size. One walk over the functions of all units fills it, at the first question about such an
 * address. A global function has one DIE in it, though each unit may have a copy; functions that
 * are local to files may share a name, and have up to LOCAL_MAX.
 *
 * Not covered: functions after WALK_MAX bytes of debug information; folded functions without a
 * symbol table; units without debug information.
 */
#include "debug_twins.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/hash_bytes.h"
#include "../../src/base/hash_table.h"
#include "../../src/base/lower_bound.h"
#include "../elf/symtab.h"
#include "debug_overlay.h"
#include "debug_scopes.h"
#include "debug_unit.h"
#include "die.h"

#define WALK_MAX ((uint64_t)1 << 30)
#define UNIT_SHIFT 40
#define NOWHERE UINT64_MAX
enum { LOCAL_MAX = 8, NEST_MAX = 64, GROUP_MAX = 1 << 16, FOUND_MAX = 64, UNITS_MAX = 16 };

/* A symbol that shares its address, or a further DIE of its name. */
struct twin_entry {
	uint64_t hash;	/* of its name and size */
	uint64_t where; /* unit << UNIT_SHIFT | offset of the DIE; NOWHERE: not found */
	uint32_t next;	/* index of a further DIE of a local function; 0: none */
	bool local;
};
struct twins {
	VEC(struct twin_entry) entries;
	struct hash_table table; /* of the first of each name */
};
struct twins_walk {
	struct debug_units *units;
	struct twins *to;
	uint64_t unit, steps;
};

static void twins_free(void *kept)
{
	struct twins *twins = kept;

	free(twins->entries.at);
	hash_table_deinit(&twins->table);
	free(twins);
}

/* ---- names ---- */

/* Returns "make<int>" of "ns::make<int>(long)": the name of a function without a linkage name, like
 * gcc's local functions. Cuts the text after it. */
static char *own_name(char *demangled)
{
	char *from = demangled, *c = demangled;
	int depth = 0;

	for (; *c && (depth || *c != '('); c++) {
		if (!strncmp(c, "(anonymous namespace)", 21)) {
			c += 20;
			continue;
		}
		depth += (*c == '<') - (*c == '>');
		if (!depth && c[0] == ':' && c[1] == ':')
			from = c + 2;
		else if (!depth && *c == ' ')
			from = c + 1;
	}
	*c = 0;
	return from;
}

static bool same_own_name(const char *one, const char *other)
{
	char *texts[2] = { mem_text(one), mem_text(other) };
	bool same = !strcmp(own_name(texts[0]), own_name(texts[1]));

	free(texts[0]);
	free(texts[1]);
	return same;
}

/* Returns the key of a function: functions of one name and different sizes are different ones. */
static uint64_t hash_function(const char *name, uint64_t bytes)
{
	return hash_bytes(name, strlen(name)) ^ hash_mix(bytes);
}

/* Returns the key of a symbol's DIE; `own`: of a DIE without a linkage name. */
static uint64_t symbol_hash(struct names *names, const struct symbol *symbol, bool own)
{
	char *text;
	uint64_t hash;

	if (!own)
		return hash_function(symbol->name, symbol->size);
	text = mem_text(names_demangled(names, symbol->name));
	hash = hash_function(own_name(text), symbol->size);
	free(text);
	return hash;
}

static bool is_external(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	bool external;

	return dwarf_attr_integrate(function, DW_AT_external, &attribute) &&
	       !dwarf_formflag(&attribute, &external) && external;
}

static const char *linkage_name(Dwarf_Die *function)
{
	static const unsigned linkage[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < 2; i++)
		if (dwarf_attr_integrate(function, linkage[i], &attribute))
			return dwarf_formstring(&attribute);
	return NULL;
}

/* ---- the index ---- */

static struct twin_entry *find_entry(struct twins *twins, uint64_t hash)
{
	uint32_t at = hash_table_find(&twins->table, hash, i, twins->entries.at[i].hash == hash);

	return at == HASH_NONE ? NULL : &twins->entries.at[at];
}

static void want(struct twins *to, uint64_t hash, const struct symbol *symbol)
{
	if (find_entry(to, hash))
		return;
	hash_table_add(&to->table, hash, (uint32_t)to->entries.count);
	*vec_push(&to->entries) = (struct twin_entry){ .hash = hash,
						       .where = NOWHERE,
						       .local = !symbol_is_global(symbol) };
}

/* Counts the symbols at the address of `symbols->at[first]`. */
static size_t group_at(const struct symbols *symbols, size_t first)
{
	size_t count = 1;

	while (first + count < symbols->count &&
	       symbols->at[first + count].value == symbols->at[first].value)
		count++;
	return count;
}

static void want_all(struct twins *to, struct names *names, const struct symbols *symbols)
{
	for (size_t i = 0, count; i < symbols->count; i += count) {
		count = group_at(symbols, i);
		for (size_t k = i; count > 1 && k < i + count; k++) {
			const struct symbol *symbol = &symbols->at[k];

			if (!symbol->size)
				continue;
			want(to, symbol_hash(names, symbol, false), symbol);
			if (!symbol_is_global(symbol))
				want(to, symbol_hash(names, symbol, true), symbol);
		}
	}
}

/* Returns the bytes of its first piece, which starts at *low; 0: unknown, as lld leaves nothing of
 * the ranges of DWARF 4. */
static uint64_t piece_of(Dwarf_Die *function, uint64_t *low)
{
	Dwarf_Addr base, high;

	return dwarf_ranges(function, 0, &base, low, &high) > 0 && high > *low ? high - *low : 0;
}

static void take_function(struct twins_walk *walk, Dwarf_Die *function)
{
	const char *name = linkage_name(function);
	struct twins *to = walk->to;
	struct twin_entry *entry;
	uint64_t bytes, low, where;

	if (!name) {
		Dwarf_Attribute attribute;

		name = dwarf_attr_integrate(function, DW_AT_name, &attribute)
			       ? dwarf_formstring(&attribute)
			       : NULL;
	}
	bytes = name ? piece_of(function, &low) : 0;
	entry = bytes ? find_entry(to, hash_function(name, bytes)) : NULL;
	if (!entry)
		return;
	where = walk->unit | (dwarf_dieoffset(function) & (((uint64_t)1 << UNIT_SHIFT) - 1));
	for (unsigned i = 0; i < LOCAL_MAX; i++) {
		if (entry->where == NOWHERE) {
			entry->where = where;
			return;
		}
		if (!entry->local)
			return;
		if (!entry->next) {
			entry->next = (uint32_t)to->entries.count;
			*vec_push(&to->entries) =
				(struct twin_entry){ .where = where, .local = true };
			return;
		}
		entry = &to->entries.at[entry->next];
	}
}

/* Searches a unit and its namespaces for functions with code. */
static void walk_children(struct twins_walk *walk, Dwarf_Die *around, unsigned nest)
{
	Dwarf_Die child;

	if (nest > NEST_MAX || dwarf_child(around, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if (!walk->steps)
			return;
		walk->steps--;
		if (tag == DW_TAG_namespace)
			walk_children(walk, &child, nest + 1);
		else if (tag == DW_TAG_subprogram && (dwarf_hasattr(&child, DW_AT_low_pc) ||
						      dwarf_hasattr(&child, DW_AT_ranges)))
			take_function(walk, &child);
	} while (die_next(&child));
}

static void walk_unit(void *context, size_t index, Dwarf_Die *die, uint64_t bytes)
{
	struct twins_walk *walk = context;

	walk->unit = (uint64_t)index << UNIT_SHIFT;
	walk->steps = bytes;
	walk_children(walk, die, 0);
}

static struct twins *twins_of(struct debug_units *units, const struct symbols *functions)
{
	/* entries name DIEs by offset: they remain valid when the DWARF is closed */
	static const struct debug_slot slot = { .free = twins_free, .stays = true };
	struct twins **kept = (struct twins **)debug_units_slot(units, &slot);
	struct twins_walk walk = { .units = units };

	if (*kept)
		return *kept;
	walk.to = *kept = mem_zero(1, sizeof(**kept));
	want_all(*kept, debug_units_names(units), functions);
	debug_units_walk(units, WALK_MAX, walk_unit, &walk);
	return *kept;
}

static bool die_at(struct debug_units *units, uint64_t where, Dwarf_Die *out)
{
	struct debug_unit *unit = debug_units_at(units, (size_t)(where >> UNIT_SHIFT));
	Dwarf_Die whole;

	if (!unit)
		return false;
	whole = unit->die;
	return die_at_offset(&whole, where & (((uint64_t)1 << UNIT_SHIFT) - 1), out);
}

/* ---- the question ---- */

struct twins_question {
	struct debug_units *units;
	const struct symbols *functions;
	struct debug_scope kept; /* the function found by the address */
	uint64_t entry;		 /* start of `kept` */
	bool external;		 /* other files know `kept` */
	struct debug_twin found[FOUND_MAX];
	size_t count, all; /* number of `found`; of all twins */
};

static void add_twin(struct twins_question *question, const struct debug_twin *twin)
{
	for (size_t i = 0; i < question->count; i++)
		if (question->found[i].die.addr == twin->die.addr)
			return;
	if (question->count < FOUND_MAX)
		question->found[question->count++] = *twin;
	question->all++;
}

/* True if the DIE is a function that was folded into the kept one. A function with code elsewhere
 * only shares its name. */
static bool is_twin(const struct twins_question *question, Dwarf_Die *die)
{
	uint64_t low = 0, bytes;

	if (die->addr == question->kept.code.addr)
		return false;
	bytes = piece_of(die, &low);
	return !bytes || low == question->entry ||
	       !(binary_flags(debug_units_file(question->units), low) & PF_X);
}

/* True if it is the symbol of the kept function. `alone`: no other one here has its name. */
static bool is_kept(const struct twins_question *question, const struct symbol *symbol, bool alone)
{
	const char *name =
		names_demangled(debug_units_names(question->units), symbol->name);

	/* a constructor's complete and base form have one readable name */
	return question->kept.name && (alone || symbol_is_global(symbol)) &&
	       (name == question->kept.name ||
		(question->kept.bare && same_own_name(name, question->kept.name)));
}

static void ask_symbol(struct twins_question *question, struct twins *twins,
		       const struct symbol *symbol)
{
	struct names *names = debug_units_names(question->units);
	struct twin_entry *entry = find_entry(twins, symbol_hash(names, symbol, false));

	if (!symbol_is_global(symbol) && (!entry || entry->where == NOWHERE))
		entry = find_entry(twins, symbol_hash(names, symbol, true));
	while (entry && entry->where != NOWHERE) {
		struct debug_twin twin = { .name = names_demangled(names, symbol->name),
					   .symbol = symbol->name };
		uint32_t next = entry->next;

		if (die_at(question->units, entry->where, &twin.die) &&
		    is_twin(question, &twin.die))
			add_twin(question, &twin);
		entry = next ? &twins->entries.at[next] : NULL;
	}
}

/* Finds twins by the names of the symbols at the address. */
static void ask_symbols(struct twins_question *question)
{
	const struct symbols *functions = question->functions;
	size_t first = lower_bound(functions->count, i,
				   functions->at[i].value < question->entry),
	       group;
	struct twins *twins;
	bool alone = true;

	if (first == functions->count || functions->at[first].value != question->entry)
		return;
	group = group_at(functions, first);
	if (group < 2 || group > GROUP_MAX)
		return;
	twins = twins_of(question->units, functions);
	/* symbols of one name are adjacent */
	for (size_t i = first; i < first + group; i++) {
		const struct symbol *symbol = &functions->at[i];
		bool again = i + 1 < first + group && !strcmp(symbol->name, symbol[1].name);

		if (again)
			alone = symbol_is_global(symbol);
		else if (symbol->size && !is_kept(question, symbol, alone))
			ask_symbol(question, twins, symbol);
		alone |= !again;
	}
}

/* Finds twins by the address, which gold leaves to all. It also gives it to the copies of an inline
 * function in several units; and it drops the symbols of local functions that it folds. */
static void ask_units(struct twins_question *question)
{
	struct debug_unit *unit;
	size_t at = SIZE_MAX;

	for (unsigned i = 0;
	     i < UNITS_MAX && (unit = debug_units_covering(question->units, question->entry, &at));
	     i++) {
		const struct code_range *ranges;
		size_t low;

		debug_units_load(question->units, unit);
		ranges = unit->ranges.all.at;
		low = lower_bound(unit->ranges.all.count, k, ranges[k].low < question->entry);
		for (; low < unit->ranges.all.count && ranges[low].low == question->entry; low++) {
			const struct unit_scope *scope = &unit->scopes.at[ranges[low].owner];
			struct debug_twin twin = { .die = scope->die };

			if (scope->parent != NO_SCOPE || scope->entry != question->entry ||
			    twin.die.addr == question->kept.code.addr)
				continue;
			twin.name = debug_scopes_function_name(question->units, &twin.die);
			if (twin.name && (twin.name != question->kept.name ||
					  !(question->external || is_external(&twin.die))))
				add_twin(question, &twin);
		}
	}
}

/* Finds the scope of the function itself, into which the others are inlined. */
static bool function_at(struct debug_units *units, uint64_t vaddr, struct debug_scope *out)
{
	struct debug_scope scopes[NEST_MAX];
	size_t count = debug_scopes_at(units, vaddr, scopes, NEST_MAX);

	if (!count || scopes[count - 1].inlined)
		return false;
	*out = scopes[count - 1];
	return true;
}

bool debug_twins_at(struct debug_units *units, const struct symbols *functions, uint64_t vaddr,
		    struct debug_twin *out, size_t room, size_t *count)
{
	struct twins_question question = { .units = units, .functions = functions };
	const struct symbol *symbol;
	Dwarf_Die die;

	*count = 0;
	if (!function_at(units, vaddr, &question.kept))
		return false;
	/* the function's start, not the piece's: a cold part has a symbol of its own */
	die = question.kept.code;
	if (!piece_of(&die, &question.entry))
		return true;
	question.external = is_external(&die);
	ask_symbols(&question);
	ask_units(&question);
	for (size_t i = 0; i < question.count && i < room; i++)
		out[i] = question.found[i];
	*count = question.all;
	/* with only line tables, functions have no linkage names: symbols know more */
	symbol = symbols_find(functions, question.entry);
	return question.all || !question.kept.bare || !symbol || !symbol_is_global(symbol);
}

void debug_twins_use(struct debug_units *units, uint64_t vaddr, struct debug_twin *twin)
{
	struct debug_scope kept;

	debug_overlay_set(units, NULL, NULL);
	if (twin && function_at(units, vaddr, &kept))
		debug_overlay_set(units, &kept.code, &twin->die);
}
