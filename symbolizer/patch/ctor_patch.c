/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_patch.c: see ctor_patch.h.
 *
 * One construction must be one event. A compiler makes several functions of one constructor: C1 for
 * whole objects, C2 for the base class's part of a derived one; of a destructor D1, D2, and D0,
 * which also frees. Mostly C1 and C2 are one address. If they are two, C1 may have the body itself
 * (virtual bases; inlining), or call C2, which then reports the same construction: such a C1 is
 * left alone. For small code gcc makes C4 of both, which they jump to (-fdeclone-ctor-dtor): then
 * both are left alone. Only the first call in a function counts as the call of a variant: inlined
 * destructors call others later, also on other objects.
 *
 * Left alone, too, and counted as not patchable: functions without a recipe (patch_recipe.h);
 * copies that the compiler made with fewer or other arguments (".isra.0", ".constprop.0"), whose
 * first one need not be `this`; addresses that belong to functions of two classes, or to a
 * constructor and a destructor, because a compiler or linker folded them. Inlined functions have no
 * entry at all: debug information tells in how many places. A function inlined into a variant of
 * its own is not missed there. Without debug information their number is unknown.
 */
#include "ctor_patch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/cleanup.h"
#include "../../src/base/glob.h"
#include "../../src/base/hash_table.h"
#include "../../src/base/mem.h"
#include "../../src/base/row_order.h"
#include "../elf/cache_file.h"
#include "ctor_inlined.h"
#include "ctor_name.h"
#include "../elf/debugfile.h"
#include "../dwarf/die_normalize.h"
#include "../module.h"
#include "../flow/patch_recipe.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { PATTERNS = 64, INSTRUCTION_MAX = 15, LOOK_FOR_CALL = 4096 };
#define NOT_A_CLASS UINT32_MAX

struct ctor_candidate {
	uint64_t vaddr, end; /* end 0: unknown */
	uint32_t class;
	uint32_t order; /* position among all symbols found */
	enum ctor_variant variant;
	const char *name;
	bool shared; /* with a function of another class, or with a destructor or constructor */
	bool left;   /* another variant reports it */
	bool bad;    /* no recipe */
	struct shiny_patch_recipe recipe;
};

struct ctor_class_name {
	char *mangled; /* the mangled name without a suffix (.cold, @VERSION) */
	uint32_t class;
};

struct ctor_search {
	const struct binary *file;
	struct sym *sym;
	char *patterns[PATTERNS];
	size_t pattern_count;
	VEC(struct shiny_ctors_class) classes;
	VEC(const char *) class_names; /* interned by sym */
	VEC(struct ctor_class_name) known;
	struct hash_table known_table; /* by `mangled` */
	VEC(struct ctor_candidate) candidates; /* after unite(): sorted by address, unique */
	bool inlined_known;
};

/* ---- the setting ---- */

static struct shiny_err *read_setting(struct ctor_search *s, const char *setting)
{
	const char *start = setting;
	unsigned depth = 0;

	for (const char *c = setting;; c++) {
		depth += *c == '<';
		depth -= *c == '>' && depth;
		if (*c && (*c != ',' || depth))
			continue;
		if (s->pattern_count == PATTERNS)
			return shiny_err(SHINY_ERR_USAGE, "SHINY_CTORS: more than %d patterns",
					 PATTERNS);
		if (c > start)
			s->patterns[s->pattern_count++] =
				mem_format("%.*s", (int)(c - start), start);
		start = c + 1;
		if (!*c)
			return NULL;
	}
}

/* True if a pattern matches `class`. A pattern without * and ? is the whole name. */
static bool wanted(const struct ctor_search *s, const char *class)
{
	for (size_t i = 0; i < s->pattern_count; i++)
		if (glob_matches(s->patterns[i], class))
			return true;
	return false;
}

/* ---- classes ---- */

static uint32_t class_numbered(struct ctor_search *s, const char *name)
{
	/* neighbours in a symbol table share a class */
	for (size_t i = s->class_names.count; i-- > 0;)
		if (s->class_names.at[i] == name)
			return (uint32_t)i;
	if (s->classes.count == SHINY_CTORS_CLASSES)
		return NOT_A_CLASS;
	*vec_push(&s->class_names) = name;
	*vec_push(&s->classes) = (struct shiny_ctors_class){ 0 };
	return (uint32_t)s->classes.count - 1;
}

/* Returns the class of a constructor or destructor; NOT_A_CLASS: no pattern matches it. */
static uint32_t class_of(struct ctor_search *s, const char *mangled)
{
	size_t bytes = strcspn(mangled, ".@");
	uint64_t hash = XXH3_64bits(mangled, bytes);
	uint32_t at = hash_table_find(&s->known_table, hash, i,
				      !strncmp(s->known.at[i].mangled, mangled, bytes) &&
					      !s->known.at[i].mangled[bytes]);
	const char *normal;
	char *text;

	if (at != HASH_NONE)
		return s->known.at[at].class;
	text = ctor_class(mangled);
	normal = text ? die_normalize(&s->sym->names, text) : NULL;
	hash_table_add(&s->known_table, hash, (uint32_t)s->known.count);
	*vec_push(&s->known) = (struct ctor_class_name){
		.mangled = mem_format("%.*s", (int)bytes, mangled),
		.class = normal && (wanted(s, normal) || wanted(s, text))
				 ? class_numbered(s, normal)
				 : NOT_A_CLASS,
	};
	free(text);
	return s->known.at[s->known.count - 1].class;
}

/* ---- candidates ---- */

static void take_symbol(void *context, const char *name, const Elf64_Sym *symbol)
{
	struct ctor_search *s = context;
	enum ctor_variant variant = ctor_variant(name);
	uint32_t class = variant == CTOR_NONE ? NOT_A_CLASS : class_of(s, name);
	const char *dot = strchr(name, '.');

	if (class == NOT_A_CLASS)
		return;
	if (dot && (!strncmp(dot, ".cold", 5) || !strncmp(dot, ".part", 5)))
		return; /* a piece of a function that is examined by itself */
	if (dot) {
		s->classes.at[class].unpatched++;
		return;
	}
	*vec_push(&s->candidates) =
		(struct ctor_candidate){ .vaddr = symbol->st_value,
					 .end = symbol->st_size ? symbol->st_value + symbol->st_size
								: 0,
					 .class = class,
					 .order = (uint32_t)s->candidates.count,
					 .variant = variant,
					 .name = name };
}

ORDER_BY(by_address, struct ctor_candidate, ORDER_UP(vaddr) ?: ORDER_UP(order))

/* Keeps one candidate for each address. */
static void unite(struct ctor_search *s)
{
	struct ctor_candidate *all = s->candidates.at;
	size_t kept = 0;

	if (s->candidates.count)
		qsort(all, s->candidates.count, sizeof(*all), by_address);
	for (size_t i = 0; i < s->candidates.count; i++) {
		struct ctor_candidate *last = kept ? &all[kept - 1] : NULL;

		if (!last || last->vaddr != all[i].vaddr) {
			all[kept++] = all[i];
			continue;
		}
		if (last->class != all[i].class ||
		    ctor_destroys(last->variant) != ctor_destroys(all[i].variant)) {
			last->shared = true;
			s->classes.at[all[i].class].unpatched++;
		}
		if (!last->end)
			last->end = all[i].end;
	}
	s->candidates.count = kept;
}

static struct ctor_candidate *candidate_at(const struct ctor_search *s, uint64_t vaddr)
{
	size_t low = lower_bound(s->candidates.count, i, s->candidates.at[i].vaddr < vaddr);

	return low < s->candidates.count && s->candidates.at[low].vaddr == vaddr
		       ? &s->candidates.at[low]
		       : NULL;
}

/* Returns the target of the function's first direct call, or jump out of it; 0: none. */
static uint64_t first_callee(const struct ctor_search *s, const struct ctor_candidate *c)
{
	uint64_t end = c->end ? c->end : c->vaddr + LOOK_FOR_CALL, target;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint64_t at = c->vaddr; at < end; at += i.length) {
		uint64_t room = binary_room(s->file, at);
		const uint8_t *bytes = binary_at(s->file, at, 1);

		if (!bytes ||
		    ZYAN_FAILED(ZydisDecoderDecodeFull(
			    &decoder, bytes, room < INSTRUCTION_MAX ? room : INSTRUCTION_MAX, &i,
			    operands)))
			return 0;
		if (i.meta.category != ZYDIS_CATEGORY_CALL &&
		    i.meta.category != ZYDIS_CATEGORY_UNCOND_BR)
			continue;
		if (operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		    ZYAN_FAILED(ZydisCalcAbsoluteAddress(&i, &operands[0], at, &target)))
			return 0;
		if (i.meta.category == ZYDIS_CATEGORY_CALL || target < c->vaddr || target >= end)
			return target;
	}
	return 0;
}

/* Makes the recipes, and marks candidates that another variant reports. */
static void make_recipes(struct ctor_search *s)
{
	for (size_t i = 0; i < s->candidates.count; i++) {
		struct ctor_candidate *c = &s->candidates.at[i];

		c->bad = c->shared ||
			 patch_recipe_make(s->file, c->vaddr, c->end, &c->recipe) != NULL;
	}
	for (size_t i = 0; i < s->candidates.count; i++) {
		struct ctor_candidate *c = &s->candidates.at[i], *other;

		other = candidate_at(s, first_callee(s, c));
		c->left = other && other != c && !other->bad && other->class == c->class &&
			  ctor_same(other->name, c->name);
	}
	for (size_t i = 0; i < s->candidates.count; i++) {
		const struct ctor_candidate *c = &s->candidates.at[i];
		struct shiny_ctors_class *class = &s->classes.at[c->class];

		if (c->left)
			continue;
		if (c->bad)
			class->unpatched++;
		else if (ctor_destroys(c->variant))
			class->destructors++;
		else
			class->constructors++;
	}
}

/* ---- debug information ---- */

/* Returns the class of an inlined function, or of the function around it; NOT_A_CLASS: no pattern
 * matches it. */
static uint32_t class_in(struct ctor_search *s, const struct ctor_inlined *f, bool *destroys)
{
	enum ctor_variant variant = f->mangled ? ctor_variant(f->mangled) : CTOR_NONE;
	const char *normal;

	*destroys = f->mangled ? ctor_destroys(variant) : f->destroys;
	if (f->mangled)
		return variant == CTOR_NONE ? NOT_A_CLASS : class_of(s, f->mangled);
	normal = f->class ? die_normalize(&s->sym->names, f->class) : NULL;
	return normal && wanted(s, normal) ? class_numbered(s, normal) : NOT_A_CLASS;
}

static void see_inlined(void *context, const struct ctor_inlined *what,
			const struct ctor_inlined *into)
{
	struct ctor_search *s = context;
	bool destroys, around;
	uint32_t class = class_in(s, what, &destroys);

	if (class == NOT_A_CLASS)
		return;
	if (class_in(s, into, &around) != class || around != destroys)
		s->classes.at[class].inlined++;
}

static bool skip_member(void *context, const struct sym_member *member)
{
	return false;
}

static void look_at_dwarf(struct ctor_search *s, const char *path)
{
	struct sym_module *module;
	struct shiny_err *err = sym_module_open(s->sym, path, path, NULL, 0, &module);
	uint64_t bytes;

	if (err) {
		shiny_err_free(err);
	} else if (module_units(module)) {
		const char *with_dwarf =
			binary_section_named(&module->file, ".debug_info", &(Elf64_Shdr){ 0 })
				? path
				: module->debug_path;

		s->inlined_known =
			with_dwarf && ctor_inlined_each(s->file, with_dwarf, see_inlined, s);
		for (size_t i = 0; i < s->classes.count; i++)
			if (sym_type_layout(module, s->class_names.at[i], &bytes, skip_member,
					    NULL) &&
			    bytes < UINT32_MAX)
				s->classes.at[i].bytes = (uint32_t)bytes;
	}
	for (size_t i = 0; !s->inlined_known && i < s->classes.count; i++)
		s->classes.at[i].inlined = UINT32_MAX;
}

/* ---- the file ---- */

const struct shiny_ctors_class *ctors_classes(const struct shiny_ctors_file *f)
{
	return (const struct shiny_ctors_class *)(f + 1);
}

static const struct shiny_ctors_entry *ctors_entries(const struct shiny_ctors_file *f)
{
	return (const struct shiny_ctors_entry *)(ctors_classes(f) + f->class_count);
}

const char *ctors_names(const struct shiny_ctors_file *f)
{
	return (const char *)(ctors_entries(f) + f->entry_count);
}

static uint64_t checksum_of(const struct shiny_ctors_file *f)
{
	return XXH3_64bits((const char *)f + offsetof(struct shiny_ctors_file, version),
			   f->bytes - offsetof(struct shiny_ctors_file, version));
}

/* Returns the name's length, cut at a character's start. */
static uint32_t name_bytes(const char *name)
{
	size_t bytes = strlen(name);

	if (bytes > SHINY_CTORS_NAME)
		for (bytes = SHINY_CTORS_NAME; ((unsigned char)name[bytes] & 0xc0) == 0x80;)
			bytes--;
	return (uint32_t)bytes;
}

static struct shiny_ctors_file *put_together(struct ctor_search *s, const char *setting)
{
	struct shiny_ctors_file *f = mem_zero(1, SHINY_CTORS_FILE_MAX);
	uint32_t total = 0;
	char *names;

	f->magic = SHINY_CTORS_MAGIC;
	f->version = SHINY_CTORS_VERSION;
	f->setting = XXH3_64bits(setting, strlen(setting));
	f->build_id_bytes = (uint32_t)s->file->build_id_bytes;
	memcpy(f->build_id, s->file->build_id, s->file->build_id_bytes);
	f->class_count = (uint32_t)s->classes.count;
	for (size_t i = 0; i < s->candidates.count; i++) {
		const struct ctor_candidate *c = &s->candidates.at[i];

		if (c->left || c->bad)
			continue;
		if (f->entry_count == SHINY_CTORS_ENTRIES) {
			struct shiny_ctors_class *class = &s->classes.at[c->class];

			--*(ctor_destroys(c->variant) ? &class->destructors : &class->constructors);
			class->unpatched++;
			snprintf(f->why, sizeof(f->why),
				 "more than %d constructors and destructors: the rest is not "
				 "recorded",
				 SHINY_CTORS_ENTRIES);
			continue;
		}
		((struct shiny_ctors_entry *)(uintptr_t)ctors_entries(f))[f->entry_count++] =
			(struct shiny_ctors_entry){ .class = c->class,
						    .destroys = ctor_destroys(c->variant),
						    .recipe = c->recipe };
	}
	names = (char *)(uintptr_t)ctors_names(f);
	for (size_t i = 0; i < s->classes.count; i++) {
		struct shiny_ctors_class *class = &s->classes.at[i];

		class->name_at = total;
		class->name_bytes = name_bytes(s->class_names.at[i]);
		if (class->name_bytes > SHINY_CTORS_NAMES - total)
			class->name_bytes = 0;
		memcpy(names + total, s->class_names.at[i], class->name_bytes);
		total += class->name_bytes;
	}
	if (s->classes.count)
		memcpy((void *)(uintptr_t)ctors_classes(f), s->classes.at,
		       s->classes.count * sizeof(*s->classes.at));
	f->name_bytes = total;
	f->bytes = (uint32_t)((size_t)(names - (char *)f) + total);
	return f;
}

/* Builds the cache file's content for `file`, opened from `path`; *out is malloc'ed. */
static struct shiny_err *ctors_recipes(const struct binary *file, const char *path,
				       const char *setting, const char *const *debug_dirs,
				       struct shiny_ctors_file **out)
{
	const struct sym_options options = { .debug_dirs = debug_dirs, .no_cache = true };
	struct ctor_search s = { .file = file };
	struct shiny_err *err = read_setting(&s, setting);
	AUTO_FREE char *debug_path = NULL;
	struct shiny_ctors_file *f = NULL;
	struct binary debug;

	if (!err)
		err = sym_create(&options, &s.sym);
	if (!err) {
		bool separate = !binary_section_typed(file, SHT_SYMTAB, &(Elf64_Shdr){ 0 }) &&
				debugfile_find(file, path, debug_dirs, &debug, &debug_path);
		binary_each_function(separate ? &debug : file, SHT_SYMTAB, take_symbol, &s);
		binary_each_function(file, SHT_DYNSYM, take_symbol, &s);
		unite(&s);
		make_recipes(&s);
		look_at_dwarf(&s, path);
		f = put_together(&s, setting);
		if (separate)
			binary_close(&debug);
		if (!f->class_count)
			snprintf(f->why, sizeof(f->why),
				 "no class of that name has a constructor or destructor among the "
				 "executable's symbols");
		f->checksum = checksum_of(f);
		*out = f;
	}
	for (size_t i = 0; i < s.pattern_count; i++)
		free(s.patterns[i]);
	for (size_t i = 0; i < s.known.count; i++)
		free(s.known.at[i].mangled);
	free(s.known.at);
	hash_table_deinit(&s.known_table);
	free(s.classes.at);
	free(s.class_names.at);
	free(s.candidates.at);
	sym_destroy(s.sym);
	return err;
}

/* ---- the cache ---- */

static bool is_good(const struct shiny_ctors_file *f, size_t bytes, const struct binary *file,
		    uint64_t setting)
{
	return f->magic == SHINY_CTORS_MAGIC && f->version == SHINY_CTORS_VERSION &&
	       f->bytes == bytes && f->setting == setting &&
	       f->class_count <= SHINY_CTORS_CLASSES && f->entry_count <= SHINY_CTORS_ENTRIES &&
	       f->name_bytes <= SHINY_CTORS_NAMES &&
	       bytes == sizeof(*f) + f->class_count * sizeof(struct shiny_ctors_class) +
				f->entry_count * sizeof(struct shiny_ctors_entry) + f->name_bytes &&
	       f->build_id_bytes == file->build_id_bytes &&
	       !memcmp(f->build_id, file->build_id, file->build_id_bytes) &&
	       memchr(f->why, 0, sizeof(f->why)) && checksum_of(f) == f->checksum;
}

static struct shiny_err *prepare(const struct binary *file, const char *path, const char *setting,
				 const char *const *debug_dirs, struct shiny_ctors_file **out)
{
	uint64_t hash = XXH3_64bits(setting, strlen(setting));
	AUTO_FREE char *suffix = mem_format(SHINY_CTORS_SUFFIX "%016" PRIx64, hash);
	AUTO_FREE char *name = cache_file_path(NULL, "probe", file->build_id, file->build_id_bytes,
					       suffix);
	AUTO_FREE struct shiny_ctors_file *f = NULL;
	size_t bytes;

	if (!name)
		return shiny_err(
			SHINY_ERR_OTHER,
			file->build_id_bytes
				? "there is no place of your own for what the library is to know"
				: "the executable has no build-id, by which the library would know "
				  "it");
	f = cache_file_read(name, sizeof(*f), SHINY_CTORS_FILE_MAX, &bytes);
	/* a file without symbols the last time may have some now */
	if (f && is_good(f, bytes, file, hash) && f->class_count) {
		*out = shiny_steal(f);
		return NULL;
	}
	free(f);
	f = NULL;
	SHINY_TRY(ctors_recipes(file, path, setting, debug_dirs, &f));
	if (!cache_file_write(name, f, f->bytes))
		return shiny_err(SHINY_ERR_OTHER, "%s can't be written", name);
	*out = shiny_steal(f);
	return NULL;
}

struct shiny_err *ctors_prepare(const char *path, const char *setting,
				const char *const *debug_dirs, struct shiny_ctors_file **out)
{
	struct binary file;
	struct shiny_err *err;

	*out = NULL;
	if (!*setting)
		return NULL;
	switch (binary_open(&file, path)) {
	case BINARY_OK: break;
	case BINARY_MISSING: return shiny_err_os(errno ? errno : ENOENT, "cannot read %s", path);
	case BINARY_NOT_ELF: return NULL;
	}
	err = prepare(&file, path, setting, debug_dirs, out);
	binary_close(&file);
	return err;
}
