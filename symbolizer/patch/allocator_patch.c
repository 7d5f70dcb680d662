/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_patch.c: see allocator_patch.h.
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
 */
#include "allocator_patch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/mem.h"
#include "../elf/binary.h"
#include "../elf/cache_file.h"
#include "../flow/patch_recipe.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum allocator_kind {
	MAKE, MAKE_OUT, MAKE_TEXT, MAKE_SIZED, END, MOVE, MOVE_OUT, RESIZE, USABLE, DROP
};
enum allocator_place { ANY, PREFIXED, OPERATOR, NEWER };

static const struct allocator_function {
	const char *name;
	enum allocator_kind kind;
	enum allocator_place place;
} functions[SHINY_ALLOCATOR_FUNCTIONS] = {
#define SHINY_ALLOCATOR(id, text, k, b, s, c, a) [SHINY_ALLOCATOR_##id] = { text, k, ANY },
#define SHINY_ALLOCATOR_PREFIXED(id, text, k, b, s, c, a) \
	[SHINY_ALLOCATOR_##id] = { text, k, PREFIXED },
#define SHINY_ALLOCATOR_OPERATOR(id, text, k, b, s, c, a) \
	[SHINY_ALLOCATOR_##id] = { text, k, OPERATOR },
#define SHINY_ALLOCATOR_NEWER(id, text, k, b, s, c, a) \
	[SHINY_ALLOCATOR_##id] = { text, k, NEWER },
#include <shiny/wire/allocator.def>
};
static const char token[] = "__alloc_token_";
static const char *const known[] = { "", "je_", "tc_", "mi_", "_rjem_" };
enum { KNOWN = sizeof(known) / sizeof(*known), TOKENS = 64 };

struct allocator_symbol { /* a function of a family */
	uint64_t vaddr, end; /* vaddr 0: missing; end 0: unknown */
	bool global, ambiguous;
};
struct allocator_search {
	const struct binary *file;
	char prefixes[SHINY_ALLOCATOR_FAMILIES][SHINY_ALLOCATOR_PREFIX];
	size_t prefix_bytes[SHINY_ALLOCATOR_FAMILIES], family_count;
	struct allocator_symbol at[SHINY_ALLOCATOR_FAMILIES][SHINY_ALLOCATOR_FUNCTIONS];
	/* functions of the first family by their __alloc_token_ names: possibly many */
	struct { uint64_t vaddr, end; size_t function; } tokens[TOKENS];
	size_t token_count;
	struct shiny_allocator_file *out;
	struct shiny_allocator_entry *entries;
};

/* ---- the setting ---- */

static struct shiny_err *read_setting(struct allocator_search *s, const char *setting)
{
	const char *at = setting;

	for (; s->family_count < KNOWN; s->family_count++)
		strcpy(s->prefixes[s->family_count], known[s->family_count]);
	if (!*setting)
		at = "";
	else if (strncmp(setting, "prefix:", 7) == 0 && setting[7] &&
		 strlen(setting) < SHINY_ALLOCATOR_SETTING)
		at = setting + 7;
	else
		return shiny_err(SHINY_ERR_USAGE,
				 "SHINY_ALLOCATOR=%s: it takes off, or prefix: and up to %d "
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

static void take_symbol(void *context, const char *name, const Elf64_Sym *symbol)
{
	struct allocator_search *s = context;
	bool global = ELF64_ST_BIND(symbol->st_info) != STB_LOCAL;

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

			if ((f ? functions[i].place >= OPERATOR : functions[i].place == PREFIXED) ||
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

static void say(struct allocator_search *s, size_t family, size_t function, const char *why)
{
	size_t used = strlen(s->out->why);

	snprintf(s->out->why + used, sizeof(s->out->why) - used, "%s%s%s: %s", used ? "; " : "",
		 functions[function].place >= OPERATOR ? "" : s->prefixes[family],
		 functions[function].name, why);
}

/* True if the function is only a jump to another one of the family. */
static bool leads_to_another(const struct allocator_search *s, size_t family,
			     const struct allocator_symbol *at)
{
	uint64_t vaddr = at->vaddr, target;
	const uint8_t *bytes = binary_at(s->file, vaddr, 9);
	int32_t distance;

	if (bytes && memcmp(bytes, "\xf3\x0f\x1e\xfa", 4) == 0) {
		bytes += 4;
		vaddr += 4;
	}
	if (!bytes || (bytes[0] != 0xe9 && bytes[0] != 0xeb))
		return false;
	memcpy(&distance, bytes + 1, sizeof(distance));
	target = bytes[0] == 0xe9 ? vaddr + 5 + (uint64_t)(int64_t)distance
				  : vaddr + 2 + (uint64_t)(int64_t)(int8_t)bytes[1];
	for (size_t i = 0; i < SHINY_ALLOCATOR_FUNCTIONS; i++)
		if (s->at[family][i].vaddr == target && functions[i].kind != USABLE)
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

/* Appends one function. False: the family cannot be patched, and the file's `why` says it. */
static bool add_function(struct allocator_search *s, size_t family, size_t home, size_t i,
			 const struct allocator_symbol *at)
{
	struct shiny_allocator_entry *same = entry_at(s, at->vaddr, s->out->count),
				     *e = &s->entries[s->out->count];
	const char *why = at->ambiguous ? "there are two of that name" : NULL;

	if (same) {
		if (functions[same->function].kind != functions[i].kind) {
			say(s, family, i,
			    "it is one function with another that does something else");
			return false;
		}
		same->either |= (functions[same->function].place >= OPERATOR) !=
				(functions[i].place >= OPERATOR);
		return true;
	}
	if (!why && s->out->count == SHINY_ALLOCATOR_ENTRIES)
		why = "too many functions";
	if (functions[i].kind == USABLE) {
		if (!why && plain_recipe(s, at->vaddr, &e->recipe)) {
			e->function = (uint16_t)i;
			e->family = (uint16_t)family;
			e->home = (uint16_t)home;
			s->out->count++;
		}
		return true; /* without this function only the usable size is missing */
	}
	if (!why)
		why = patch_recipe_make(s->file, at->vaddr, at->end, &e->recipe);
	if (why && leads_to_another(s, family, at))
		return true;
	if (why) {
		say(s, family, i, why);
		return false;
	}
	e->function = (uint16_t)i;
	e->family = (uint16_t)family;
	e->home = (uint16_t)home;
	s->out->count++;
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
	if (make && end && make->home == end->home)
		home = make->home;
	if (add_functions(s, family, home)) {
		bool all = at[SHINY_ALLOCATOR_MALLOC].vaddr;

		/* a compiler may inline one operator of a pair and not the other */
		for (uint32_t i = before; i < s->out->count && !all; i++)
			s->entries[i].either = 1;
	} else {
		memset(s->entries + before, 0, (s->out->count - before) * sizeof(*s->entries));
		s->out->count = before;
	}
}

static uint64_t checksum_of(const struct shiny_allocator_file *f)
{
	return XXH3_64bits((const char *)f + offsetof(struct shiny_allocator_file, version),
			   f->bytes - offsetof(struct shiny_allocator_file, version));
}

/* Builds the cache file's content; *out is malloc'ed. */
static struct shiny_err *allocator_recipes(const struct binary *file, const char *setting,
					   struct shiny_allocator_file **out)
{
	AUTO_FREE struct allocator_search *s = mem_zero(1, sizeof(*s));
	AUTO_FREE struct shiny_allocator_file *f =
		mem_zero(1, SHINY_ALLOCATOR_FILE_MAX + sizeof(struct shiny_allocator_entry));

	s->file = file;
	s->out = f;
	s->entries = (struct shiny_allocator_entry *)(f + 1);
	SHINY_TRY(read_setting(s, setting));
	binary_each_function(s->file, SHT_SYMTAB, take_symbol, s);
	binary_each_function(s->file, SHT_DYNSYM, take_symbol, s);
	for (size_t family = 0; family < s->family_count; family++)
		add_family(s, family);
	f->magic = SHINY_ALLOCATOR_MAGIC;
	f->version = SHINY_ALLOCATOR_VERSION;
	f->bytes = (uint32_t)(sizeof(*f) + f->count * sizeof(*s->entries));
	f->build_id_bytes = (uint32_t)file->build_id_bytes;
	memcpy(f->build_id, file->build_id, file->build_id_bytes);
	snprintf(f->setting, sizeof(f->setting), "%s", setting);
	memcpy(f->families, s->prefixes, sizeof(f->families));
	f->checksum = checksum_of(f);
	*out = shiny_steal(f);
	return NULL;
}

/* ---- the file ---- */

static unsigned count_patches(const struct shiny_allocator_file *f)
{
	const struct shiny_allocator_entry *entries = (const struct shiny_allocator_entry *)(f + 1);
	unsigned patches = 0;

	for (uint32_t i = 0; i < f->count; i++)
		patches += entries[i].function < SHINY_ALLOCATOR_FUNCTIONS &&
			   functions[entries[i].function].kind != USABLE;
	return patches;
}

/* Returns the cache file, malloc'ed, if it is valid for this build and setting; else NULL. */
static struct shiny_allocator_file *read_cached(const char *path, const struct binary *file,
						const char *setting)
{
	size_t bytes;
	AUTO_FREE struct shiny_allocator_file *f =
		cache_file_read(path, sizeof(*f), SHINY_ALLOCATOR_FILE_MAX, &bytes);

	if (!f || f->magic != SHINY_ALLOCATOR_MAGIC || f->version != SHINY_ALLOCATOR_VERSION ||
	    f->bytes != bytes || f->count > SHINY_ALLOCATOR_ENTRIES ||
	    bytes != sizeof(*f) + f->count * sizeof(struct shiny_allocator_entry) ||
	    f->build_id_bytes != file->build_id_bytes ||
	    memcmp(f->build_id, file->build_id, file->build_id_bytes) != 0 ||
	    strncmp(f->setting, setting, sizeof(f->setting)) != 0 ||
	    !memchr(f->why, 0, sizeof(f->why)) || checksum_of(f) != f->checksum)
		return NULL;
	return shiny_steal(f);
}

static struct shiny_err *prepare(const struct binary *file, const char *setting,
				 struct allocator_found *out)
{
	AUTO_FREE char *path = cache_file_path(NULL, "probe", file->build_id, file->build_id_bytes,
					       SHINY_ALLOCATOR_SUFFIX);
	AUTO_FREE struct shiny_allocator_file *f = path ? read_cached(path, file, setting) : NULL;

	out->cached = f;
	if (!f)
		SHINY_TRY(allocator_recipes(file, setting, &f));
	if (path)
		snprintf(out->path, sizeof(out->path), "%s", path);
	out->patches = count_patches(f);
	snprintf(out->why, sizeof(out->why), "%s", f->why);
	out->present = out->patches || *out->why;
	if (out->present && !path) {
		out->patches = 0;
		snprintf(out->why, sizeof(out->why), "%s",
			 file->build_id_bytes < CACHE_FILE_ID_MIN
				 ? "the executable has no build-id, by which the library would "
				   "know it"
				 : "there is no place of your own for what the library is to know");
	}
	/* a file without patches tells the library not to look again: losing it costs time only */
	if (path && !out->cached && !cache_file_write(path, f, f->bytes) && out->present)
		return shiny_err_os(errno, "cannot write %s", path);
	return NULL;
}

struct shiny_err *allocator_prepare(const char *path, const char *setting,
				    struct allocator_found *out)
{
	struct binary file;
	struct shiny_err *err;

	memset(out, 0, sizeof(*out));
	if (strcmp(setting, "off") == 0) /* the cache file stays for when it is on again */
		return NULL;
	switch (binary_open(&file, path)) {
	case BINARY_OK: break;
	case BINARY_MISSING: return shiny_err_os(errno ? errno : ENOENT, "cannot read %s", path);
	case BINARY_NOT_ELF: return NULL;
	}
	err = prepare(&file, setting, out);
	binary_close(&file);
	return err;
}
