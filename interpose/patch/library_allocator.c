/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_allocator.c: see library_allocator.h.
 *
 * We cannot export such names: a program that tests for jemalloc by a weak reference to mallocx
 * would find it. Instead we change the values of the library's own symbols to our stubs' addresses,
 * in the memory of this process. Then the loader binds every reference to us, and dlsym finds us,
 * in any scope. The library's code stays unchanged, and calls within it, which are bound already or
 * need no symbol, stay its own.
 *
 * For a library that is loaded when the constructor runs, we change the symbols in place, and
 * rebind references that are bound already, by their values.
 *
 * For one that is loaded later, the loader tells debuggers that its list has changed by calling an
 * empty function (link.h: r_brk), before it binds anything. We redirect that function's entry, if
 * its bytes are a return and padding. No system call may be made then (sys.h), so the library gets
 * a copy of its symbols, which its dynamic section, still writable, names. The copy is ours, and
 * there is room for a few. Without room, or with another entry, the library stays unchanged, and
 * its module's record lacks SHINY_MODULE_REACHED.
 *
 * In a namespace of its own (dlmopen) a program has a libc that no preloaded library precedes.
 * There malloc's own names count as well.
 */
#define _GNU_SOURCE
#include "library_allocator.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "../core/env.h"
#include "../core/sys.h"
#include "../hook/hooks.h"
#include "../unwind/modules.h"
#include "../unwind/symbols.h"
#include "inner_allocator.h"
#include "loader_watch.h"
#include "own_calls.h"

enum { PAGE = 4096, COPY_BYTES = 128 << 10, PREFIXES = 16, HEADS = 32, NAME = 48 };

/* ---- names ---- */

enum library_place { ANY, PREFIXED, OPERATOR, ENGINE };
static const uint8_t places[SHINY_ALLOCATOR_FUNCTIONS] = {
#define SHINY_ALLOCATOR(id, text, k, b, s, c, a)          [SHINY_ALLOCATOR_##id] = ANY,
#define SHINY_ALLOCATOR_PREFIXED(id, text, k, b, s, c, a) [SHINY_ALLOCATOR_##id] = PREFIXED,
#define SHINY_ALLOCATOR_OPERATOR(id, text, k, b, s, c, a) [SHINY_ALLOCATOR_##id] = OPERATOR,
#define SHINY_ALLOCATOR_ENGINE(id, text, k, b, s, c, p, a) [SHINY_ALLOCATOR_##id] = ENGINE,
#define SHINY_ALLOCATOR_POOL(id, text, k, b, s, c, pool, parent, title, a) \
	[SHINY_ALLOCATOR_##id] = ENGINE,
#include <shiny/wire/allocator.def>
};

static const char *const hooked[] = {
#define SI_HOOK(id, symbol, result, parameters) #symbol,
#include "../hook/hook_list.def"
};

/* prefix of clang's forms of a call, with a number in the name or as a last argument */
static const char token[] = "__alloc_token_";
static char prefixes[PREFIXES][SHINY_ALLOCATOR_PREFIX] = { "je_", "tc_", "mi_", "_rjem_",
							   "scalable_", "rp", "sn_", "xx", "dl",
							   "ned" };
/* Only libraries that define one of these are examined further. */
static char heads[HEADS][NAME] = { "malloc",
				   "mallocx",
				   "moz_arena_malloc",
				   "_Znwm12__hot_cold_t",
				   "__size_returning_new",
				   "tcmalloc_size_returning_operator_new",
				   "__alloc_token_malloc",
				   "__alloc_token_0_malloc",
				   "__alloc_token__Znwm",
				   "__alloc_token_0__Znwm" };

/* Returns the name behind the prefix; NULL: it has another one. */
static const char *behind(const char *name, const char *prefix)
{
	while (*prefix && *name == *prefix)
		name++, prefix++;
	return *prefix ? NULL : name;
}

/* Adds the prefixes of SHINY_ALLOCATOR=prefix:a,b. */
static void add_prefixes(void)
{
	const char *at = si_env.allocator ? behind(si_env.allocator, "prefix:") : NULL;
	unsigned n = 0;

	while (prefixes[n][0])
		n++;
	for (; at && *at && n < PREFIXES - 1; n++) {
		unsigned used = 0;

		for (; *at && *at != ','; at++)
			if (used + 1 < SHINY_ALLOCATOR_PREFIX)
				prefixes[n][used++] = *at;
		at += *at == ',';
	}
}

static void find_heads(void)
{
	struct si_text t;
	unsigned n = 0;

	while (heads[n][0])
		n++;
	for (unsigned i = 0; i < PREFIXES && prefixes[i][0] && n < HEADS; i++, n++) {
		si_text_init(&t, heads[n], NAME);
		si_text_add(&t, prefixes[i]);
		si_text_add(&t, "malloc");
	}
}

static bool is_hooked(const char *name)
{
	for (unsigned i = 0; i < sizeof(hooked) / sizeof(*hooked); i++)
		if (si_equal(hooked[i], name))
			return true;
	return false;
}

static int row_of(const char *name, bool operators, bool prefixed)
{
	for (int i = 0; i < SHINY_ALLOCATOR_FUNCTIONS; i++)
		if (places[i] != ENGINE &&
		    (places[i] == ANY || (places[i] == OPERATOR ? operators : prefixed)) &&
		    si_equal(name, si_own_functions[i].name))
			return i;
	return -1;
}

/* Returns the row of allocator.def for a library's symbol; -1: none. */
static int row_of_symbol(const char *name, bool elsewhere)
{
	const char *rest = behind(name, token);
	int row;

	if (rest) {
		while (*rest >= '0' && *rest <= '9')
			rest++;
		return row_of(rest + (rest[-1] != '_' && *rest == '_'), true, false);
	}
	if (elsewhere && (rest = behind(name, "__libc_")))
		return row_of(rest, false, false);
	if (elsewhere || !is_hooked(name)) {
		row = row_of(name, !elsewhere, false);
		if (row >= 0)
			return row;
	}
	for (unsigned i = 0; i < PREFIXES && prefixes[i][0]; i++) {
		rest = behind(name, prefixes[i]);
		row = rest ? row_of(rest, false, true) : -1;
		if (row >= 0)
			return row;
	}
	return -1;
}

/* ---- modules ---- */

/* The loader has made the addresses absolute, except in sections that it can't write. */
static bool read_symbols(const ElfW(Dyn) *dynamic, uintptr_t bias, struct si_symbols *t)
{
	return si_symbols_read(dynamic, bias, t) && !si_is_ours(t->table);
}

static struct library {
	const void *dynamic; /* NULL: free */
	unsigned entries;
} libraries[SI_OWN_LIBRARIES];
static char copies[SI_OWN_LIBRARIES][COPY_BYTES] __attribute__((aligned(64)));

static bool may_have(const struct si_symbols *t, bool elsewhere)
{
	for (unsigned i = !elsewhere; i < HEADS && heads[i][0]; i++)
		if (si_symbols_find(t, heads[i]))
			return true;
	return false;
}

static bool is_function(const ElfW(Sym) *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_value;
}

/* Finds the functions for moving a block by hand: the library's malloc, free and usable size, under
 * any of their names. */
static void find_family(struct si_own_family *family, uintptr_t bias,
			const struct si_symbols *t, uint32_t end)
{
	*family = (struct si_own_family){ .inner_bytes = UINTPTR_MAX };
	for (uint32_t i = 1; i < end; i++) {
		const char *name = t->names + t->table[i].st_name;
		si_own_fn *function = (si_own_fn *)(bias + t->table[i].st_value);
		int row = is_function(&t->table[i]) ? row_of_symbol(name, true) : -1;

		if (row == SHINY_ALLOCATOR_MALLOC ||
		    (row == SHINY_ALLOCATOR_MALLOCX && !family->make))
			family->make = function;
		else if (row == SHINY_ALLOCATOR_FREE ||
			 (row == SHINY_ALLOCATOR_DALLOCX && !family->end))
			family->end = function;
		else if (row >= 0 && si_own_functions[row].call.kind == SHINY_CALL_USABLE)
			family->usable = function;
	}
	if (!family->make || !family->end)
		family->usable = NULL;
}

/* Replaces the library's functions by their stubs, in `symbols`: its own or a copy. */
static void redirect(unsigned n, uintptr_t bias, const struct si_symbols *t, uint32_t end,
		     ElfW(Sym) *symbols, bool elsewhere)
{
	struct si_own_family *family = &si_own_families[SI_OWN_INNER_FAMILIES + n];
	struct library *library = &libraries[n];
	unsigned entry = SI_OWN_INNER + n * SI_OWN_LIBRARY;

	find_family(family, bias, t, end);
	for (uint32_t i = 1; i < end && library->entries < SI_OWN_LIBRARY; i++) {
		int row = is_function(&symbols[i])
				  ? row_of_symbol(t->names + symbols[i].st_name, elsewhere)
				  : -1;

		if (row < 0 || si_own_functions[row].call.kind == SHINY_CALL_USABLE)
			continue;
		si_own_fill(entry, &si_own_functions[row].call,
			    (si_own_fn *)(bias + symbols[i].st_value), family);
		/* it also frees blocks of the library's operator new */
		if (si_own[entry].call.api == SHINY_API_FREE && !elsewhere)
			si_own[entry].call.api = SHINY_API_EITHER_FREE;
		__atomic_store_n(&symbols[i].st_value, (uintptr_t)si_own_stub(entry) - bias,
				 __ATOMIC_RELAXED);
		entry++;
		library->entries++;
	}
}

/* ---- at start ---- */

/* Returns the segment of the module that holds `address`, or NULL. */
static const ElfW(Phdr) *part_at(const struct dl_phdr_info *info, uintptr_t address)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return p;
	}
	return NULL;
}

struct library_start {
	struct si_text *text;
	bool main_seen;
	unsigned count; /* number of libraries */
};

static int redirect_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
	struct library_start *start = context;
	ElfW(Dyn) *dynamic = si_dynamic_of(info);
	struct library *library = &libraries[start->count];
	struct si_symbols t;
	const ElfW(Phdr) *part;
	uintptr_t low, high;
	uint32_t end;
	int prot;

	(void)size;
	if (!start->main_seen) {
		start->main_seen = true;
		return 0;
	}
	if (start->count == SI_OWN_LIBRARIES || !read_symbols(dynamic, info->dlpi_addr, &t) ||
	    !may_have(&t, false))
		return 0;
	end = si_symbols_end(&t);
	part = part_at(info, (uintptr_t)t.table);
	if (!part)
		return 0;
	prot = (part->p_flags & PF_X ? PROT_EXEC : 0) | PROT_READ;
	low = (uintptr_t)t.table & -(uintptr_t)PAGE;
	high = ((uintptr_t)(t.table + end) + PAGE - 1) & -(uintptr_t)PAGE;
	if (si_sys(SYS_mprotect, low, high - low, PROT_READ | PROT_WRITE) != 0)
		return 0;
	redirect((unsigned)(library - libraries), info->dlpi_addr, &t, end, (ElfW(Sym) *)t.table,
		 false);
	si_sys(SYS_mprotect, low, high - low, prot);
	if (!library->entries)
		return 0;
	library->dynamic = dynamic;
	start->count++;
	si_modules_note(info->dlpi_addr, SHINY_MODULE_REACHED);
	si_text_add(start->text, "; ");
	si_text_number(start->text, library->entries);
	si_text_add(start->text, " functions of ");
	si_text_add(start->text, si_base_name(info->dlpi_name));
	si_text_add(start->text, "'s own lead to us");
	return 0;
}

/* Returns the stub for the function that a reference holds; 0: it is no library's. */
static uintptr_t stub_for(uintptr_t value)
{
	for (unsigned n = 0; n < SI_OWN_LIBRARIES && libraries[n].dynamic; n++)
		for (unsigned i = 0; i < libraries[n].entries; i++) {
			unsigned entry = SI_OWN_INNER + n * SI_OWN_LIBRARY + i;

			if ((uintptr_t)si_own[entry].function == value)
				return (uintptr_t)si_own_stub(entry);
		}
	return 0;
}

/* True if the module contains a function that our hooks call. */
static bool is_below(const struct dl_phdr_info *info)
{
	return part_at(info, (uintptr_t)si_next.malloc) || part_at(info, (uintptr_t)si_next.free) ||
	       part_at(info, (uintptr_t)si_next.new);
}

/* Returns libc's function `name`, if it is one of those with two names; else 0. */
static uintptr_t libc_function(const char *name)
{
	static const struct { const char *name; void *const *real;
	} others[] = {
#define LIBC(id) { "__" #id, (void *const *)&si_next.id }
		LIBC(libc_malloc), LIBC(libc_calloc), LIBC(libc_realloc), LIBC(libc_free),
		LIBC(libc_memalign), LIBC(libc_valloc), LIBC(libc_pvalloc),
	};

	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (si_equal(others[i].name, name))
			return (uintptr_t)*others[i].real;
	return 0;
}

/*
 * Returns the value that a reference shall get, or 0 to leave it. A malloc that is built on
 * __libc_malloc is below our hook of malloc, which records the block; so its reference gets libc's
 * function and not our hook of that. The caller would not show it: a jump leaves no return address.
 */
static uintptr_t wanted(const struct si_symbols *t, const ElfW(Rela) *rela, uintptr_t held,
			bool below)
{
	const ElfW(Sym) *symbol = &t->table[ELF64_R_SYM(rela->r_info)];

	return below ? libc_function(t->names + symbol->st_name) : stub_for(held);
}

static void rebind_table(const struct dl_phdr_info *info, const struct si_symbols *t,
			 const ElfW(Rela) *rela, size_t bytes)
{
	bool below = is_below(info);
	uintptr_t low = 0, high = 0;

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
			low = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) & -(uintptr_t)PAGE;
			high = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
				info->dlpi_phdr[i].p_memsz) & -(uintptr_t)PAGE;
		}
	for (size_t i = 0; i < bytes / sizeof(*rela); i++) {
		uintptr_t *at = (uintptr_t *)(info->dlpi_addr + rela[i].r_offset), stub;
		uint32_t type = ELF64_R_TYPE(rela[i].r_info);
		bool locked;

		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
		    (type != R_X86_64_64 || rela[i].r_addend))
			continue;
		/* a library's references to itself stay its own */
		stub = !below && part_at(info, *at) ? 0 : wanted(t, &rela[i], *at, below);
		if (!stub)
			continue;
		locked = (uintptr_t)at - low < high - low;
		if (locked && si_sys(SYS_mprotect, low, high - low, PROT_READ | PROT_WRITE) != 0)
			return;
		*at = stub;
		if (locked)
			si_sys(SYS_mprotect, low, high - low, PROT_READ);
	}
}

static int rebind_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
	struct si_symbols t;

	(void)size, (void)context;
	if (!read_symbols(si_dynamic_of(info), info->dlpi_addr, &t))
		return 0;
	rebind_table(info, &t, t.rela, t.rela_bytes);
	rebind_table(info, &t, t.plt, t.plt_bytes);
	return 0;
}

/* ---- later ---- */

/* Returns an unused place, or that of a library that was unloaded; NULL: none. */
static struct library *room(void)
{
	for (unsigned i = 0; i < SI_OWN_LIBRARIES; i++)
		if (!libraries[i].dynamic || !si_loader_has(libraries[i].dynamic))
			return &libraries[i];
	return NULL;
}

static void redirect_copy(const struct link_map *map, const struct si_symbols *t, bool elsewhere)
{
	struct library *library = room();
	ElfW(Dyn) *named = map->l_ld;
	uint32_t end = si_symbols_end(t);
	ElfW(Sym) *copy;

	if (!library || end * sizeof(*copy) > COPY_BYTES)
		return;
	copy = (ElfW(Sym) *)copies[library - libraries];
	__builtin_memcpy(copy, t->table, end * sizeof(*copy));
	library->entries = 0;
	redirect((unsigned)(library - libraries), map->l_addr, t, end, copy, elsewhere);
	if (!library->entries)
		return;
	library->dynamic = map->l_ld;
	si_modules_note(map->l_addr, SHINY_MODULE_REACHED);
	while (named->d_tag != DT_SYMTAB)
		named++;
	named->d_un.d_ptr = (uintptr_t)copy;
}

static void meet(const struct link_map *map, bool elsewhere)
{
	struct si_symbols t;

	si_modules_note(map->l_addr, 0);
	if (map->l_addr && read_symbols(map->l_ld, map->l_addr, &t) &&
	    may_have(&t, elsewhere))
		redirect_copy(map, &t, elsewhere);
	si_allocator_meet(map, elsewhere);
}

static bool in_one_module(void *a, void *b)
{
	struct dl_find_object one, other;

	return _dl_find_object(a, &one) == 0 && _dl_find_object(b, &other) == 0 &&
	       one.dlfo_link_map == other.dlfo_link_map;
}

void si_library_attach(struct si_text *text)
{
	struct library_start start = { .text = text };

	bool off = si_same(si_env.allocator, "off", 4);

	add_prefixes();
	find_heads();
	if (!off)
		dl_iterate_phdr(redirect_loaded, &start);
	if (start.count || !in_one_module((void *)si_next.malloc, (void *)si_next.libc_malloc))
		dl_iterate_phdr(rebind_loaded, NULL);
	if (off)
		return;
	if (!si_loader_watch(meet))
		si_text_add(text, "; allocators of libraries that are opened later are not seen: "
				  "the loader cannot be watched");
}
