/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_recipes.c: see allocator_recipes.h.
 *
 * A family is one prefix: malloc, je_malloc and _rjem_malloc are three. It is patched as a whole or
 * not at all: recording the end of a block without its beginning would be worse than recording
 * nothing. It needs malloc and free, or, for the family without a prefix, operators that only their
 * own program has (SHINY_ALLOCATOR_NEWER, and clang's __alloc_token_ forms) and operator delete:
 * they may stand on an allocator without malloc. One function that cannot be patched rules the
 * family out, with an exception: a function that only jumps to another one of the family is
 * recorded there.
 *
 * Names come from .symtab and .dynsym. A global one wins over a local one. Two local ones of one
 * name with two addresses cannot be told apart, and rule the family out, too. The first name in the
 * order of allocator.def stands for all names of its address.
 *
 * An engine is the functions of one api. It is there if its first function is, and patched as a
 * whole or not at all, too. A function of kind ASIDE that cannot be patched is left out silently:
 * no block is missing then. A library's malloc is left to the loader.
 */
#include "allocator_recipes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/mem.h"
#include "../flow/patch_recipe.h"

/* ENGINE: engine_functions.h has these. */
enum allocator_place { ANY, PREFIXED, OPERATOR, NEWER, ENGINE };
enum { NO = SHINY_CALL_NO };

static const struct allocator_function {
	const char *name;
	struct shiny_allocator_call call;
	enum allocator_place place;
} functions[SHINY_ALLOCATOR_FUNCTIONS] = {
#define ROW(id, text, k, b, s, c, a, place)                                              \
	[SHINY_ALLOCATOR_##id] = { text,                                                 \
				   { SHINY_CALL_##k, b, s, c, NO, SHINY_API_##a, 0, NO,  \
				     NO, NO, NO },                                       \
				   place },
#define SHINY_ALLOCATOR(id, text, k, b, s, c, a)          ROW(id, text, k, b, s, c, a, ANY)
#define SHINY_ALLOCATOR_PREFIXED(id, text, k, b, s, c, a) ROW(id, text, k, b, s, c, a, PREFIXED)
#define SHINY_ALLOCATOR_OPERATOR(id, text, k, b, s, c, a) ROW(id, text, k, b, s, c, a, OPERATOR)
#define SHINY_ALLOCATOR_NEWER(id, text, k, b, s, c, a)    ROW(id, text, k, b, s, c, a, NEWER)
#define SHINY_ALLOCATOR_ENGINE(id, text, k, b, s, c, p, a) \
	[SHINY_ALLOCATOR_##id] = { .name = text, .place = ENGINE },
#define SHINY_ALLOCATOR_POOL(id, text, k, b, s, c, pool, parent, title, a) \
	[SHINY_ALLOCATOR_##id] = { .name = text, .place = ENGINE },
#include <shiny/wire/allocator.def>
};
static const char token[] = "__alloc_token_";
static const char *const known[] = { "", "je_", "tc_", "mi_", "_rjem_" };
enum { KNOWN = sizeof(known) / sizeof(*known), TOKENS = 64 };

struct allocator_symbol { /* a function of a family */
	uint64_t vaddr, end; /* vaddr 0: missing; end 0: unknown */
	bool global, ambiguous;
};
struct engine_symbol { /* a function of an engine */
	const struct engine_function *function;
	const char *name; /* as long as the file is open */
	uint16_t bytes;
	struct allocator_symbol symbol;
};
struct allocator_search {
	const struct binary *file;
	bool library; /* malloc's own names are left to the loader there */
	const struct engine_functions *engines;
	VEC(struct engine_symbol) found;
	char prefixes[SHINY_ALLOCATOR_FAMILIES][SHINY_ALLOCATOR_PREFIX];
	size_t prefix_bytes[SHINY_ALLOCATOR_FAMILIES], family_count;
	struct allocator_symbol at[SHINY_ALLOCATOR_FAMILIES][SHINY_ALLOCATOR_FUNCTIONS];
	/* functions of the first family by their __alloc_token_ names: possibly many */
	struct { uint64_t vaddr, end; size_t function; } tokens[TOKENS];
	size_t token_count;
	struct shiny_allocator_file *out;
	struct shiny_allocator_entry *entries;
	uint16_t family_of[SHINY_ALLOCATOR_FAMILIES]; /* by prefix: its number in the file, plus
	                                               * one; 0: none yet */
	uint16_t numbered; /* families that have a number */
};

/* ---- the setting ---- */

static struct shiny_err *read_setting(struct allocator_search *s, const char *setting)
{
	const char *at = setting;

	for (; s->family_count < KNOWN; s->family_count++)
		strcpy(s->prefixes[s->family_count], known[s->family_count]);
	if (!*setting || engine_functions_from_file(setting))
		at = "";
	else if (strncmp(setting, "prefix:", 7) == 0 && setting[7] &&
		 strlen(setting) < SHINY_ALLOCATOR_SETTING)
		at = setting + 7;
	else
		return shiny_err(SHINY_ERR_USAGE,
				 "SHINY_ALLOCATOR=%s: it takes off, file: and the path of a list "
				 "of functions, or prefix: and up to %d "
				 "prefixes with commas between",
				 setting, SHINY_ALLOCATOR_FAMILIES - KNOWN);
	while (*at) {
		size_t bytes = strcspn(at, ",");

		if (!bytes || bytes >= SHINY_ALLOCATOR_PREFIX ||
		    s->family_count == SHINY_ALLOCATOR_FAMILIES)
			return shiny_err(SHINY_ERR_USAGE,
					 "SHINY_ALLOCATOR=%s: too many prefixes, an empty one, or "
					 "one of %d bytes and more",
					 setting, SHINY_ALLOCATOR_PREFIX);
		memcpy(s->prefixes[s->family_count], at, bytes);
		s->family_count++;
		at += bytes + (at[bytes] == ',');
	}
	for (size_t f = 0; f < s->family_count; f++)
		s->prefix_bytes[f] = strlen(s->prefixes[f]);
	return NULL;
}

/* ---- names ---- */

static void take_token(struct allocator_search *s, const char *name, const Elf64_Sym *symbol)
{
	const char *digits = name + strspn(name, "0123456789");
	const char *rest = digits > name && *digits == '_' ? digits + 1 : name;

	for (size_t i = 0; i < SHINY_ALLOCATOR_FUNCTIONS && s->token_count < TOKENS; i++)
		if (functions[i].place != PREFIXED && strcmp(rest, functions[i].name) == 0) {
			s->tokens[s->token_count].vaddr = symbol->st_value;
			s->tokens[s->token_count].end =
				symbol->st_size ? symbol->st_value + symbol->st_size : 0;
			s->tokens[s->token_count++].function = i;
			return;
		}
}

static void take_engine(struct allocator_search *s, const char *name, const Elf64_Sym *symbol)
{
	uint16_t bytes;
	const struct engine_function *function = engine_functions_find(s->engines, name, &bytes);

	if (!function)
		return;
	for (size_t i = 0; i < s->found.count; i++)
		if (strcmp(s->found.at[i].name, name) == 0) {
			s->found.at[i].symbol.ambiguous |=
				s->found.at[i].symbol.vaddr != symbol->st_value;
			return;
		}
	*vec_push(&s->found) = (struct engine_symbol){
		.function = function,
		.name = name,
		.bytes = bytes,
		.symbol = { .vaddr = symbol->st_value,
			    .end = symbol->st_size ? symbol->st_value + symbol->st_size : 0 },
	};
}

static void take_symbol(void *context, const char *name, const Elf64_Sym *symbol)
{
	struct allocator_search *s = context;
	bool global = ELF64_ST_BIND(symbol->st_info) != STB_LOCAL;

	take_engine(s, name, symbol);
	if (s->library)
		return;
	if (strncmp(name, token, sizeof(token) - 1) == 0)
		take_token(s, name + sizeof(token) - 1, symbol);
	for (size_t f = 0; f < s->family_count; f++) {
		const char *rest = name + s->prefix_bytes[f];

		/* most of a million symbols end here */
		if (f ? strncmp(name, s->prefixes[f], s->prefix_bytes[f]) != 0
		      : !strchr("mfcrapvds_", name[0]))
			continue;
		for (size_t i = 0; i < SHINY_ALLOCATOR_FUNCTIONS; i++) {
			struct allocator_symbol *at = &s->at[f][i];

			if (functions[i].place == ENGINE ||
			    (f ? functions[i].place >= OPERATOR : functions[i].place == PREFIXED) ||
			    strcmp(rest, functions[i].name) != 0)
				continue;
			if (at->vaddr && at->vaddr != symbol->st_value && at->global == global)
				at->ambiguous = true;
			if (at->vaddr && at->global >= global)
				continue;
			*at = (struct allocator_symbol){
				.vaddr = symbol->st_value,
				.end = symbol->st_size ? symbol->st_value + symbol->st_size : 0,
				.global = global
			};
		}
	}
}

/* ---- recipes ---- */

static void say(struct allocator_search *s, const char *name, const char *why)
{
	size_t used = strlen(s->out->why);

	snprintf(s->out->why + used, sizeof(s->out->why) - used, "%s%s: %s", used ? "; " : "", name,
		 why);
}

/* Writes the function's whole name. */
static void name_function(const struct allocator_search *s, size_t family, size_t function,
			  char name[SHINY_ALLOCATOR_NAME])
{
	snprintf(name, SHINY_ALLOCATOR_NAME, "%s%s",
		 functions[function].place >= OPERATOR ? "" : s->prefixes[family],
		 functions[function].name);
}

/* Returns the address to which the function jumps with its first instruction; 0: to none. */
static uint64_t first_jump(const struct allocator_search *s, uint64_t vaddr)
{
	const uint8_t *bytes = binary_at(s->file, vaddr, 9);
	int32_t distance;

	if (bytes && memcmp(bytes, "\xf3\x0f\x1e\xfa", 4) == 0) {
		bytes += 4;
		vaddr += 4;
	}
	if (!bytes || (bytes[0] != 0xe9 && bytes[0] != 0xeb))
		return 0;
	memcpy(&distance, bytes + 1, sizeof(distance));
	return bytes[0] == 0xe9 ? vaddr + 5 + (uint64_t)(int64_t)distance
				: vaddr + 2 + (uint64_t)(int64_t)(int8_t)bytes[1];
}

/* True if the function is only a jump to another one of the family. */
static bool leads_to_another(const struct allocator_search *s, size_t family,
			     const struct allocator_symbol *at)
{
	uint64_t target = first_jump(s, at->vaddr);

	for (size_t i = 0; target && i < SHINY_ALLOCATOR_FUNCTIONS; i++)
		if (s->at[family][i].vaddr == target && functions[i].call.kind != SHINY_CALL_USABLE)
			return true;
	return false;
}

/* Returns the entry with this address among the first `count`; NULL: none. */
static struct shiny_allocator_entry *entry_at(const struct allocator_search *s, uint64_t vaddr,
					      uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (s->entries[i].recipe.vaddr == vaddr)
			return &s->entries[i];
	return NULL;
}

/* Fills only the members by which a reader checks the code. */
static bool plain_recipe(const struct allocator_search *s, uint64_t vaddr,
			 struct shiny_patch_recipe *out)
{
	const uint8_t *bytes = binary_at(s->file, vaddr, 8);

	memset(out, 0, sizeof(*out));
	if (!bytes || !(binary_flags(s->file, vaddr) & PF_X))
		return false;
	out->vaddr = vaddr;
	out->expected_bytes = 8;
	memcpy(out->expected, bytes, 8);
	return true;
}

/* Appends an entry whose recipe is made. */
static void add_entry(struct allocator_search *s, const char *name,
		      const struct shiny_allocator_call *call, uint16_t family, unsigned roles)
{
	struct shiny_allocator_entry *e = &s->entries[s->out->count++];

	snprintf(e->name, sizeof(e->name), "%s", name);
	e->call = *call;
	e->family = family;
	e->roles = (uint16_t)roles;
}

static uint16_t number_of(struct allocator_search *s, size_t home)
{
	if (!s->family_of[home])
		s->family_of[home] = ++s->numbered;
	return s->family_of[home] - 1;
}

static unsigned roles_of(size_t function)
{
	return function == SHINY_ALLOCATOR_MALLOC ? SHINY_ALLOCATOR_MAKES
	       : function == SHINY_ALLOCATOR_FREE ? SHINY_ALLOCATOR_ENDS
						  : 0;
}

/* Notes that operator new and malloc, or delete and free, are this one function. */
static void be_either(struct shiny_allocator_entry *e)
{
	e->call.api = e->call.kind == SHINY_CALL_END ? SHINY_API_EITHER_FREE
						     : SHINY_API_EITHER_ALLOC;
}

/* Appends one function. False: the family cannot be patched, and the file's `why` says it. */
static bool add_function(struct allocator_search *s, size_t family, size_t home, size_t i,
			 const struct allocator_symbol *at)
{
	struct shiny_allocator_entry *same = entry_at(s, at->vaddr, s->out->count),
				     *e = &s->entries[s->out->count];
	const char *why = at->ambiguous ? "there are two of that name" : NULL;
	char name[SHINY_ALLOCATOR_NAME];

	name_function(s, family, i, name);
	if (same) {
		if (same->call.kind != functions[i].call.kind) {
			say(s, name, "it is one function with another that does something else");
			return false;
		}
		if (same->of_operator != (functions[i].place >= OPERATOR))
			be_either(same);
		return true;
	}
	if (!why && s->out->count == SHINY_ALLOCATOR_ENTRIES)
		why = "too many functions";
	if (functions[i].call.kind == SHINY_CALL_USABLE) {
		if (!why && plain_recipe(s, at->vaddr, &e->recipe))
			add_entry(s, name, &functions[i].call, number_of(s, home), 0);
		return true; /* without this function only the usable size is missing */
	}
	if (!why)
		why = patch_recipe_make(s->file, at->vaddr, at->end, &e->recipe);
	if (why && leads_to_another(s, family, at))
		return true;
	if (why) {
		say(s, name, why);
		return false;
	}
	add_entry(s, name, &functions[i].call, number_of(s, home),
		  home == family ? roles_of(i) : 0);
	e->of_operator = functions[i].place >= OPERATOR;
	return true;
}

static bool add_functions(struct allocator_search *s, size_t family, size_t home)
{
	const struct allocator_symbol *at = s->at[family];

	for (size_t i = 0; i < SHINY_ALLOCATOR_FUNCTIONS; i++)
		if (at[i].vaddr && !add_function(s, family, home, i, &at[i]))
			return false;
	for (size_t i = 0; i < s->token_count && !family; i++) {
		const struct allocator_symbol named = { .vaddr = s->tokens[i].vaddr,
							.end = s->tokens[i].end };

		if (!add_function(s, family, home, s->tokens[i].function, &named))
			return false;
	}
	return true;
}

/* Removes the entries from `count` on. */
static void forget(struct allocator_search *s, uint32_t count)
{
	memset(s->entries + count, 0, (s->out->count - count) * sizeof(*s->entries));
	s->out->count = count;
}

/* True if the family has the functions that it needs. */
static bool is_family(const struct allocator_search *s, size_t family)
{
	const struct allocator_symbol *at = s->at[family];
	bool newer = s->token_count;

	if (at[SHINY_ALLOCATOR_MALLOC].vaddr && at[SHINY_ALLOCATOR_FREE].vaddr)
		return true;
	for (size_t i = 0; i < SHINY_ALLOCATOR_FUNCTIONS; i++)
		newer |= functions[i].place == NEWER && at[i].vaddr;
	return !family && newer && at[SHINY_ALLOCATOR_DELETE].vaddr;
}

static void add_family(struct allocator_search *s, size_t family)
{
	const struct allocator_symbol *at = s->at[family];
	uint32_t before = s->out->count;
	const struct shiny_allocator_entry *make, *end;
	size_t home = family;

	if (!is_family(s, family))
		return;
	/* mi_malloc may be malloc by another name: its family's other functions belong to malloc's
	 * then */
	make = entry_at(s, at[SHINY_ALLOCATOR_MALLOC].vaddr, before);
	end = entry_at(s, at[SHINY_ALLOCATOR_FREE].vaddr, before);
	for (size_t f = 0; f < family && make && end && make->family == end->family; f++)
		if (s->family_of[f] == make->family + 1)
			home = f;
	if (add_functions(s, family, home)) {
		bool all = at[SHINY_ALLOCATOR_MALLOC].vaddr;

		/* a compiler may inline one operator of a pair and not the other */
		for (uint32_t i = before; i < s->out->count && !all; i++)
			be_either(&s->entries[i]);
	} else {
		forget(s, before);
	}
}

/* ---- engines ---- */

/* True if the function is only a jump to another one of the engine. */
static bool leads_to_engine(const struct allocator_search *s, const struct engine_symbol *from)
{
	uint64_t target = first_jump(s, from->symbol.vaddr);

	for (size_t i = 0; target && i < s->found.count; i++)
		if (s->found.at[i].symbol.vaddr == target &&
		    s->found.at[i].function->call.api == from->function->call.api)
			return true;
	return false;
}

static unsigned engine_roles(const struct shiny_allocator_call *call)
{
	bool makes = call->kind == SHINY_CALL_MAKE && call->size == 0 && call->count == NO &&
		     call->plus == NO;

	return makes						     ? SHINY_ALLOCATOR_MAKES
	       : call->kind == SHINY_CALL_END && call->block == 0 ? SHINY_ALLOCATOR_ENDS
								  : 0;
}

struct pool_variable {
	unsigned api;
	uint64_t vaddr; /* 0: not found */
};

static void take_variable(void *context, const char *name, const Elf64_Sym *symbol)
{
	struct pool_variable *v = context;

	if (symbol->st_size == sizeof(void *) && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
	    engine_functions_has_variable(name, v->api))
		v->vaddr = symbol->st_value;
}

/* Returns the address of the variable that points to the api's current pool; 0: there is none. */
static uint64_t variable_of(const struct allocator_search *s, unsigned api)
{
	struct pool_variable v = { .api = api };

	binary_each_symbol(s->file, SHT_SYMTAB, STT_OBJECT, take_variable, &v);
	if (!v.vaddr)
		binary_each_symbol(s->file, SHT_DYNSYM, STT_OBJECT, take_variable, &v);
	return v.vaddr;
}

/* Appends one function of an engine; false: it cannot be patched. */
static bool add_engine_function(struct allocator_search *s, const struct engine_symbol *at,
				uint16_t family, unsigned *roles)
{
	struct shiny_allocator_entry *e = &s->entries[s->out->count];
	struct shiny_allocator_call call = at->function->call;
	unsigned role = engine_roles(&call) & ~*roles;
	const char *why = at->symbol.ambiguous ? "there are two of that name" : NULL;

	if (entry_at(s, at->symbol.vaddr, s->out->count))
		return true;
	if (!why && s->out->count == SHINY_ALLOCATOR_ENTRIES)
		why = "too many functions";
	call.bytes = at->bytes;
	if (call.kind == SHINY_CALL_USABLE) {
		if (!why && plain_recipe(s, at->symbol.vaddr, &e->recipe))
			add_entry(s, at->name, &call, family, 0);
		return true;
	}
	if (!why)
		why = patch_recipe_make(s->file, at->symbol.vaddr, at->symbol.end, &e->recipe);
	if (why && (call.kind == SHINY_CALL_ASIDE || leads_to_engine(s, at)))
		return true;
	if (why) {
		say(s, at->name, why);
		return false;
	}
	if (call.pool == SHINY_CALL_VARIABLE)
		e->variable = variable_of(s, call.api);
	if (call.pool == SHINY_CALL_VARIABLE && !e->variable) {
		say(s, at->name, "the variable with its pool has no symbol");
		return false;
	}
	add_entry(s, at->name, &call, family, role);
	*roles |= role;
	return true;
}

/* Appends the functions of the engine with this main function, all or none. */
static void add_engine(struct allocator_search *s, const struct engine_function *head)
{
	uint16_t family = s->numbered;
	uint32_t before = s->out->count;
	unsigned roles = 0;
	bool good = family < SHINY_ALLOCATOR_FAMILIES, any = false;

	for (size_t i = 0; i < s->found.count; i++)
		any |= s->found.at[i].function->call.api == head->call.api &&
		       engine_functions_shows(s->engines, s->found.at[i].function);
	for (size_t i = 0; i < s->found.count && good && any; i++)
		if (s->found.at[i].function->call.api == head->call.api)
			good = add_engine_function(s, &s->found.at[i], family, &roles);
	if (!good)
		forget(s, before);
	else if (s->out->count > before)
		s->numbered++;
}

static void add_engines(struct allocator_search *s)
{
	for (size_t i = 0; i < s->engines->rows.count; i++) {
		const struct engine_function *row = &s->engines->rows.at[i];

		if (!i || row->call.api != row[-1].call.api)
			add_engine(s, row);
	}
}

/* True if the file has a library's name; glibc's can be run like a program. */
static bool is_library(const struct binary *file)
{
	struct binary_bytes dynamic = { 0 };
	Elf64_Shdr section;
	Elf64_Dyn entry;

	if (binary_section_typed(file, SHT_DYNAMIC, &section))
		dynamic = binary_section_bytes(file, &section);
	for (size_t at = 0; at + sizeof(entry) <= dynamic.bytes; at += sizeof(entry)) {
		memcpy(&entry, dynamic.data + at, sizeof(entry));
		if (entry.d_tag == DT_SONAME)
			return true;
	}
	for (size_t i = 0; i < file->segment_count; i++)
		if (file->segments[i].p_type == PT_INTERP)
			return false;
	return true;
}

struct shiny_err *allocator_recipes(const struct binary *file, const char *setting,
					   const struct engine_functions *engines,
					   struct shiny_allocator_file **out)
{
	AUTO_FREE struct allocator_search *s = mem_zero(1, sizeof(*s));
	AUTO_FREE struct shiny_allocator_file *f =
		mem_zero(1, SHINY_ALLOCATOR_FILE_MAX + sizeof(struct shiny_allocator_entry));

	s->file = file;
	s->library = is_library(file);
	s->engines = engines;
	s->out = f;
	s->entries = (struct shiny_allocator_entry *)(f + 1);
	SHINY_TRY(read_setting(s, setting));
	binary_each_function(s->file, SHT_SYMTAB, take_symbol, s);
	binary_each_function(s->file, SHT_DYNSYM, take_symbol, s);
	for (size_t family = 0; family < s->family_count; family++)
		add_family(s, family);
	add_engines(s);
	f->magic = SHINY_ALLOCATOR_MAGIC;
	f->version = SHINY_ALLOCATOR_VERSION;
	f->bytes = (uint32_t)(sizeof(*f) + f->count * sizeof(*s->entries));
	f->build_id_bytes = (uint32_t)file->build_id_bytes;
	memcpy(f->build_id, file->build_id, file->build_id_bytes);
	snprintf(f->setting, sizeof(f->setting), "%s", setting);
	f->setting_time = s->engines->time;
	free(s->found.at);
	*out = shiny_steal(f);
	return NULL;
}
