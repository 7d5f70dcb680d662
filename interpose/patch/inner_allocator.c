/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner_allocator.c: hooks a jemalloc, tcmalloc, mimalloc or any malloc that is linked into the
 * executable, and the own heap of an engine (zend's, libpas) in any module.
 *
 * Runs:      inside.
 * Signals:   as the program's malloc.
 * Allocates: see inner_allocator.h.
 * Threads:   attach: the constructor's. Hooks: any.
 *
 * The problem. The executable comes first in symbol lookup, so libraries find its malloc, and its
 * own calls were bound when it was linked; a name with a prefix (je_malloc) is never looked up. So
 * the functions' entries are patched (patcher.c), by recipes computed outside. An engine's
 * functions have names of their own, which its module calls without the loader: they are patched as
 * well, in the modules that are loaded when the constructor runs. Modules are listed before
 * anything is done with them: what dl_iterate_phdr calls makes no system call (calls.def).
 *
 * A library that is opened later is patched when it is mapped and not bound yet (loader_watch.h):
 * no thread can be inside it. That takes system calls, so it is done only if no thread has a
 * seccomp filter (si_wait_unfiltered), and only for a library that has an engine, or if there is a
 * list of the user's. Its functions' numbers are used again when it is closed. The memory of its
 * heap may be unmapped then with blocks that nobody freed, so its blocks are never read for their
 * types, unless the library says that it cannot be closed.
 *
 * own_calls.c has the hooks.
 */
#define _GNU_SOURCE
#include "inner_allocator.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <shiny/wire/allocator.h>

#include "../core/env.h"
#include "../core/late.h"
#include "../hook/hooks.h"
#include "../record/wait.h"
#include "../unwind/main_image.h"
#include "../unwind/modules.h"
#include "../unwind/symbols.h"
#include "loader_watch.h"
#include "own_calls.h"
#include "patcher.h"
#include "recipe_file.h"
#include "../core/settings.h"
#include "../core/sys.h"

/* ---- what a module has ---- */

static const struct engine_row {
	const char *name;
	unsigned api; /* as in struct shiny_allocator_call */
	bool aside;   /* it is of kind ASIDE: what it looks at is reached at the start only */
} engine_rows[] = {
#define SHINY_ALLOCATOR(id, text, k, b, s, c, a)
#define SHINY_ALLOCATOR_ENGINE(id, text, k, b, s, c, p, a) { text, SHINY_API_##a, false },
#define SHINY_ALLOCATOR_TYPES(id, text, k, b, r) \
	{ text, SHINY_APIS + SHINY_RUN_TIME_##r, SHINY_CALL_##k == SHINY_CALL_ASIDE },
#define SHINY_ALLOCATOR_POOL(id, text, k, b, s, c, pool, parent, title, a) \
	{ text, SHINY_API_##a, false },
#include <shiny/wire/allocator.def>
};

static bool is_of_engine(const ElfW(Dyn) *dynamic, uintptr_t bias, bool late)
{
	struct si_symbols symbols;

	if (!si_symbols_read(dynamic, bias, &symbols))
		return false;
	for (unsigned i = 0; i < sizeof(engine_rows) / sizeof(*engine_rows); i++)
		if ((!i || engine_rows[i].api != engine_rows[i - 1].api) &&
		    !(late && engine_rows[i].aside) &&
		    si_symbols_find(&symbols, engine_rows[i].name))
			return true;
	return false;
}

/* True if the module has so much code that Blink may be in it: it is looked into once, outside. */
static bool is_huge(const struct dl_phdr_info *info)
{
	enum { HUGE_CODE = 64 << 20 }; /* QtWebEngine 5.15 has 103 MiB */

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X &&
		    info->dlpi_phdr[i].p_memsz >= HUGE_CODE)
			return true;
	return false;
}

static bool is_from_file(void)
{
	return si_env.allocator && si_same(si_env.allocator, "file:", 5);
}

static struct si_allocator_module modules[SI_ALLOCATOR_MODULES];
static unsigned module_count;

/* The time of the last change of the file that the setting names, in ns; 0: none. */
static uint64_t setting_time;

static int note_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct si_allocator_module *m = &modules[module_count];
	bool *main = context;

	(void)size;
	m->of_engine = is_from_file() ||
		       is_of_engine(si_dynamic_of(info), info->dlpi_addr, false) ||
		       (!*main && is_huge(info));
	if (*main || (m->of_engine && info->dlpi_name[0] == '/')) {
		si_image_of(info, &m->image);
		m->path = *main ? NULL : info->dlpi_name;
		module_count += *main || !si_is_ours((const void *)m->image.start);
	}
	*main = false;
	return module_count == SI_ALLOCATOR_MODULES;
}

unsigned si_allocator_modules(const struct si_allocator_module **out)
{
	bool main = true;
	struct stat st;

	if (is_from_file() &&
	    !si_sys6(SYS_newfstatat, AT_FDCWD, (long)(si_env.allocator + 5), (long)&st, 0, 0, 0))
		setting_time = (uint64_t)st.st_mtim.tv_sec * 1000000000 +
			       (uint64_t)st.st_mtim.tv_nsec;
	module_count = 0;
	dl_iterate_phdr(note_module, &main);
	*out = modules;
	return module_count;
}

/* ---- attaching ---- */

static size_t length_of(const char *text, size_t room)
{
	size_t n = 0;

	while (n < room && text[n])
		n++;
	return n;
}

static unsigned entries, families; /* in use */

/* The entries and families of a module, from these numbers on. */
struct own_numbers {
	unsigned entry, entries, family, families;
};

static unsigned families_of(const struct shiny_allocator_file *f)
{
	const struct shiny_allocator_entry *e = (const struct shiny_allocator_entry *)(f + 1);
	unsigned most = 0;

	for (uint32_t i = 0; i < f->count; i++)
		most = e[i].family > most ? e[i].family : most;
	return most + 1;
}

/* Finds numbers for the functions of a file. */
static bool find_room(const struct shiny_allocator_file *f, struct own_numbers *n,
		      struct si_text *why)
{
	*n = (struct own_numbers){ entries, f->count, families, families_of(f) };
	if (entries + n->entries <= SI_OWN_PATCHED &&
	    families + n->families <= SI_OWN_INNER_FAMILIES)
		return true;
	si_text_add(why, "more functions than there is room for");
	return false;
}

static bool prepare_one(struct si_patches *patches, const struct shiny_allocator_entry *e,
			unsigned n, struct si_own_family *family, struct si_text *why)
{
	si_own_fn *real;

	if (e->call.kind == SHINY_CALL_USABLE) {
		if (!e->recipe.expected_bytes ||
		    !si_same((const char *)patches->bias + e->recipe.vaddr,
			     (const char *)e->recipe.expected, e->recipe.expected_bytes)) {
			si_text_add(why, "its code in memory is not that of the file");
			return false;
		}
		family->usable = (si_own_fn *)(patches->bias + e->recipe.vaddr);
		return true;
	}
	real = si_patch_add(patches, &e->recipe, si_own_stub(n), why);
	si_own_fill(n, &e->call, real, family);
	if (e->variable)
		si_own[n].variable = (const uintptr_t *)(patches->bias + e->variable);
	if (e->roles & SHINY_ALLOCATOR_MAKES)
		family->make = real;
	if (e->roles & SHINY_ALLOCATOR_ENDS)
		family->end = real;
	return real != NULL;
}

static bool prepare(struct si_patches *patches, const struct shiny_allocator_file *f,
		    const struct si_main_image *image, const struct own_numbers *n, bool is_unread,
		    struct si_text *why)
{
	struct si_own_family *family = &si_own_families[n->family];
	const struct shiny_allocator_entry *e = (const struct shiny_allocator_entry *)(f + 1);
	struct si_text reason;
	char words[128];

	for (unsigned i = 0; i < n->families; i++)
		family[i] = (struct si_own_family){ .inner = image->start,
						    .inner_bytes = image->end - image->start,
						    .is_unread = is_unread };
	for (uint32_t i = 0; i < f->count; i++) {
		si_text_init(&reason, words, sizeof(words));
		if (prepare_one(patches, &e[i], n->entry + i, &family[e[i].family], &reason) ||
		    e[i].call.kind == SHINY_CALL_ASIDE)
			continue;
		si_text_add(why, e[i].name);
		si_text_add(why, ": ");
		si_text_add(why, words);
		return false;
	}
	/* blocks are never moved by hand where a function for that is missing */
	for (unsigned i = 0; i < n->families; i++)
		if (!family[i].make || !family[i].end)
			family[i].usable = NULL;
	return true;
}

/* True if it is patched, and is a part of an allocator or about types. */
static bool is_told(const struct shiny_allocator_entry *e)
{
	return e->call.kind != SHINY_CALL_USABLE && e->call.kind != SHINY_CALL_ASIDE;
}

static unsigned told_of(const struct shiny_allocator_file *f)
{
	const struct shiny_allocator_entry *e = (const struct shiny_allocator_entry *)(f + 1);
	unsigned told = 0;

	for (uint32_t i = 0; i < f->count; i++)
		told += is_told(&e[i]);
	return told;
}

/* Appends the names of patched functions: all of a few. */
static void name_patched(const struct shiny_allocator_file *f, struct si_text *text)
{
	enum { NAMED = 24 };
	const struct shiny_allocator_entry *e = (const struct shiny_allocator_entry *)(f + 1);
	unsigned named = 0;

	for (uint32_t i = 0; i < f->count && named < NAMED; i++) {
		if (!is_told(&e[i]))
			continue;
		named++;
		si_text_add(text, " ");
		si_text_add(text, e[i].name);
	}
	if (named == NAMED)
		si_text_add(text, " and others");
}

struct si_patches si_allocator_patches;

static bool attach(const struct si_main_image *image, const struct shiny_allocator_file *f,
		   struct si_text *text)
{
	struct si_patches *p = &si_allocator_patches;
	struct own_numbers n;

	if (!find_room(f, &n, text) ||
	    !(si_late ? si_patch_begin_unbound(p, image->bias, image->start, image->end, f->count,
					       text)
		      : si_patch_begin(p, image->bias, image->start, image->end, f->count, text)))
		return false;
	if (!prepare(p, f, image, &n, false, text)) {
		si_patch_abandon(p);
		return false;
	}
	if (!(si_late ? si_patch_leave(p, text) : si_patch_commit(p, text)))
		return false;
	entries += n.entries;
	families += n.families;
	si_text_number(text, told_of(f));
	return true;
}

bool si_allocator_is_prepared(char *const *environment, const struct si_main_image *image)
{
	char words[SHINY_TEXT];
	struct si_recipe_file file;
	struct si_text why;
	const char *fault;

	si_text_init(&why, words, sizeof(words));
	fault = si_recipe_open(environment, image, setting_time, &file, &why);
	si_recipe_close(&file);
	return file.fd != -ENOENT && !(is_from_file() && fault == si_recipe_other_setting);
}

/* Attaches what the module's file describes. `owner`: who has the allocator, for messages; the text
 * about a library's stands behind that about the program's. */
static bool attach_module(char *const *environment, const struct si_main_image *image,
			  const char *owner, bool is_library, struct si_text *text)
{
	char words[SHINY_TEXT];
	struct si_recipe_file file;
	struct si_text why;
	const char *fault;
	bool done = false;

	si_text_init(&why, words, sizeof(words));
	fault = si_recipe_open(environment, image, setting_time, &file, &why);
	if (file.fd == -ENOENT)
		return false;
	if (fault) {
		si_text_add(&why, fault);
	} else {
		si_text_init(&why, words, sizeof(words));
		if (file.f->count)
			done = attach(image, file.f, &why);
		else
			si_text_bytes(&why, file.f->why,
				      length_of(file.f->why, sizeof(file.f->why)));
	}
	/* a file without such functions is about no allocator: nothing is lost without it */
	if ((!fault || fault == si_recipe_other_setting) && file.f->count && !told_of(file.f)) {
		si_recipe_close(&file);
		return false;
	}
	if (why.used)
		si_text_add(text, text->used || is_library ? "; " : "");
	if (done) {
		si_text_add(text, words);
		si_text_add(text, " functions of ");
		si_text_add(text, owner);
		si_text_add(text, si_recipe_is_about_types(file.f) ? "'s types patched:"
							 : "'s own allocator patched:");
		name_patched(file.f, text);
	} else if (why.used) {
		si_text_add(text, owner);
		si_text_add(text, "'s own allocator is not patched: ");
		si_text_add(text, words);
	}
	si_recipe_close(&file);
	return done;
}

bool si_allocator_attach(char *const *environment, struct si_text *text)
{
	struct si_main_image image;

	if (si_same(si_env.allocator, "off", 4))
		return false;
	si_main_image(&image);
	return attach_module(environment, &image, "the program", false, text);
}

/* The variables that name the directory of such files, for libraries that are opened later. */
enum { LATER = 8, VARIABLE = 1024 };
static char variables[2][VARIABLE], *directories[3];

static void keep_directories(char *const *environment)
{
	unsigned n = 0;

	for (; *environment && n < 2; environment++) {
		size_t bytes = length_of(*environment, VARIABLE);

		if (bytes == VARIABLE || (!si_same(*environment, "XDG_CACHE_HOME=", 15) &&
					  !si_same(*environment, "HOME=", 5)))
			continue;
		__builtin_memcpy(variables[n], *environment, bytes);
		directories[n] = variables[n];
		n++;
	}
}

void si_allocator_attach_libraries(char *const *environment, struct si_text *text)
{
	const struct si_allocator_module *list;
	unsigned count;

	if (si_same(si_env.allocator, "off", 4))
		return;
	count = si_allocator_modules(&list);
	for (unsigned i = 1; i < count; i++)
		if (attach_module(environment, &list[i].image, si_base_name(list[i].path), true,
				  text))
			si_modules_note(list[i].image.bias, SHINY_MODULE_REACHED);
	keep_directories(environment);
}

/* ---- later ---- */

/* A library that was patched when it was opened. Its place is used again once it is closed. */
static struct late {
	const void *dynamic; /* NULL: none yet */
	struct own_numbers n;
	struct si_patches patches;
} later[LATER];

/* Returns an unused place with numbers for the file's functions, or that of a library that was
 * closed; NULL: none. */
static struct late *room_later(const struct shiny_allocator_file *f, const void *dynamic)
{
	char words[SHINY_TEXT];
	struct si_text why;

	for (struct late *l = later; l < later + LATER; l++) {
		bool closed = l->dynamic && (l->dynamic == dynamic || !si_loader_has(l->dynamic));

		if (closed && l->patches.page)
			si_patch_gone(&l->patches);
		if (closed)
			l->patches.page = NULL;
		if (closed && f->count <= l->n.entries && families_of(f) <= l->n.families)
			return l;
		si_text_init(&why, words, sizeof(words));
		if (!l->dynamic)
			return find_room(f, &l->n, &why) ? l : NULL;
	}
	return NULL;
}

static bool cannot_be_closed(const ElfW(Dyn) *dynamic)
{
	for (; dynamic->d_tag != DT_NULL; dynamic++)
		if (dynamic->d_tag == DT_FLAGS_1)
			return dynamic->d_un.d_val & DF_1_NODELETE;
	return false;
}

static bool attach_later(const struct si_main_image *image, const struct shiny_allocator_file *f,
			 const ElfW(Dyn) *dynamic)
{
	struct late *l = room_later(f, dynamic);
	bool fresh = l && !l->dynamic;
	char words[SHINY_TEXT];
	struct si_text why;

	si_text_init(&why, words, sizeof(words));
	if (!l || !si_patch_begin_unbound(&l->patches, image->bias, image->start, image->end,
					  f->count, &why))
		return false;
	if (!prepare(&l->patches, f, image, &l->n, !cannot_be_closed(dynamic), &why)) {
		si_patch_abandon(&l->patches);
		return false;
	}
	if (!si_patch_commit(&l->patches, &why))
		return false;
	entries += fresh ? l->n.entries : 0;
	families += fresh ? l->n.families : 0;
	l->dynamic = dynamic;
	return true;
}

struct opened_search {
	const struct link_map *map;
	struct dl_phdr_info found;
};

static int find_info(struct dl_phdr_info *info, size_t size, void *context)
{
	struct opened_search *s = context;

	(void)size;
	if (info->dlpi_addr != s->map->l_addr || si_dynamic_of(info) != s->map->l_ld)
		return 0;
	s->found = *info;
	return 1;
}

/* Patches what the library's file describes. Returns the flags of its record: none if there is no
 * file for it yet, or one without recipes. */
static uint32_t attach_opened(const struct link_map *map, const struct dl_phdr_info *info)
{
	struct si_main_image image;
	char words[SHINY_TEXT];
	struct si_recipe_file file;
	struct si_text why;
	const char *fault;
	uint32_t flags = 0;

	si_image_of(info, &image);
	si_text_init(&why, words, sizeof(words));
	fault = si_recipe_open(directories, &image, setting_time, &file, &why);
	if (file.fd != -ENOENT && fault != si_recipe_other_setting && (fault || told_of(file.f)))
		flags = !fault && attach_later(&image, file.f, map->l_ld) ? SHINY_MODULE_REACHED
									  : SHINY_MODULE_BARRED;
	si_recipe_close(&file);
	return flags;
}

void si_allocator_meet(const struct link_map *map, bool elsewhere)
{
	static bool is_barred; /* there is a filter, or nobody who would know: both stay so */
	struct opened_search s = { .map = map };
	uint32_t flags;

	if (!is_from_file() && !is_of_engine(map->l_ld, map->l_addr, true))
		return;
	if (elsewhere ? !si_modules_header(map, &s.found) : !dl_iterate_phdr(find_info, &s))
		return;
	is_barred = is_barred || !si_wait_unfiltered();
	flags = is_barred ? SHINY_MODULE_BARRED : attach_opened(map, &s.found);
	if (flags)
		si_modules_note(map->l_addr, flags);
}
