/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next.c: finds the real functions, and serves allocations until they are found.
 *
 * Runs:      inside.
 * Signals:   resolving happens once, early.
 * Allocates: a bump area in .bss.
 * Threads:   any.
 *
 * The problem: constructors of libraries that the loader runs before ours allocate, so the table
 * must work before it is filled; and dlsym(RTLD_NEXT) cannot fill it: it searches from its caller
 * on, and if a library before us replaces dlsym, that library is the caller, and the next function
 * is our own. The approach: the five functions that are called most start out as `early_*`, which
 * fill the table first, from the modules' own tables (symbols.h); while this thread is filling it,
 * they allocate from si_bump. After that the hot path does not test whether the table is filled.
 * Rejected: __libc_malloc and friends as a first target (absent from other allocators, and their
 * blocks would later meet another allocator's free).
 */
#define _GNU_SOURCE
#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "../core/late.h"
#include "../unwind/symbols.h"
#include "inner_calls.h"

char si_bump[SI_BUMP_BYTES] __attribute__((aligned(64)));
static size_t bump_used;
static __thread bool resolving;
static bool resolved;
enum si_new_mode si_new_mode;
void (*si_public_free)(void *);
void *(*si_public_realloc)(void *, size_t);

/* Allocates from the bump area. Each block lies behind 16 bytes that hold its size. */
static void *bump_alloc(size_t align, size_t size)
{
	size_t start = __atomic_load_n(&bump_used, __ATOMIC_RELAXED), at;

	if (align < 16)
		align = 16;
	do {
		at = (start + 16 + align - 1) / align * align;
		if (size > SI_BUMP_BYTES || at > SI_BUMP_BYTES - size) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!__atomic_compare_exchange_n(&bump_used, &start, (at + size + 15) / 16 * 16, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	memcpy(si_bump + at - 16, &size, sizeof(size));
	return si_bump + at;
}

size_t si_bump_size(const void *block)
{
	size_t size;

	memcpy(&size, (const char *)block - 16, sizeof(size));
	return size;
}

/* Fills the table. True: it is filled, use it. False: this thread is filling it. */
static bool early(void)
{
	if (resolving)
		return false;
	si_next_resolve();
	return true;
}

static void *early_malloc(size_t size)
{
	return early() && si_next.malloc != early_malloc ? si_next.malloc(size)
							 : bump_alloc(16, size);
}

static void *early_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (early() && si_next.calloc != early_calloc)
		return si_next.calloc(count, size);
	/* .bss is zeroed already */
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : bump_alloc(16, bytes);
}

/* The hook has dealt with blocks of the bump area; here remain realloc(NULL, n), and foreign blocks
 * while resolving. */
static void *early_realloc(void *block, size_t size)
{
	if (early() && si_next.realloc != early_realloc)
		return si_next.realloc(block, size);
	return block ? NULL : bump_alloc(16, size);
}

static void early_free(void *block)
{
	if (early() && si_next.free != early_free)
		si_next.free(block);
}

static size_t early_usable_size(void *block)
{
	return early() && si_next.malloc_usable_size != early_usable_size
		       ? si_next.malloc_usable_size(block)
		       : 0;
}

struct si_next si_next = {
	.malloc = early_malloc,
	.calloc = early_calloc,
	.realloc = early_realloc,
	.free = early_free,
	.malloc_usable_size = early_usable_size,
};

#define SI_HOOK(id, symbol, result, parameters)
#define SI_STUB(id, symbol) __attribute__((used)) void *si_next_##id;
#include "hook_list.def"

/* libc's own dlsym, even if a library replaces it */
static void *(*libc_dlsym)(void *, const char *);

bool si_is_ours(const void *address)
{
	return address && si_module_of(address) == si_module_of(si_bump);
}

/* dlopen(path, RTLD_LAZY | RTLD_NOLOAD) and its dlclose, below our hooks: no module is loaded or
 * unloaded. */
static void *peek_open(const char *path)
{
	void *(*real)(const char *, int) = si_next_dlopen;

	return real ? real(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static void peek_close(void *handle)
{
	if (handle && si_next.dlclose)
		si_next.dlclose(handle);
}

void *si_scope_symbol(uintptr_t pc, const char *symbol)
{
	const struct link_map *module = si_module_of((const void *)pc);
	void *handle = module && *module->l_name ? peek_open(module->l_name) : NULL,
	     *found = handle && libc_dlsym ? libc_dlsym(handle, symbol) : NULL;

	peek_close(handle);
	return found;
}

/* A library that came late is the last of all, but it is reached first: references are redirected
 * to it (rebind.h), except those to functions of the executable, whose own calls need none. */
const void *si_owner(const char *symbol)
{
	const struct link_map *ours = si_module_of(si_bump), *module = si_first_module(ours);
	const void *found = NULL;

	if (si_late && !(found = si_symbol_in(module, symbol)))
		found = si_symbol_in(ours, symbol);
	for (; !found && module; module = module->l_next)
		found = si_symbol_in(module, symbol);
	return found;
}

void *si_next_of(const char *symbol)
{
	const struct link_map *ours = si_module_of(si_bump);
	const struct link_map *module = si_late ? si_first_module(ours) : ours->l_next;
	void *found = NULL;

	for (; !found && module; module = module->l_next)
		found = module == ours ? NULL : si_symbol_in(module, symbol);
	return found;
}

const struct link_map *si_libc(void)
{
	return si_module_of(si_next_of("__libc_start_main"));
}

bool si_is_cxx_runtime(const void *address)
{
	const struct link_map *module = si_module_of(address);
	const char *name;

	if (!module)
		return false;
	name = strrchr(module->l_name, '/');
	name = name ? name + 1 : module->l_name;
	return !strncmp(name, "libstdc++.so", 12) || !strncmp(name, "libc++.so", 9) ||
	       !strncmp(name, "libc++abi.so", 12);
}

/* True if all functions that libstdc++'s operators call by name are ours. */
static bool all_reach_us(void)
{
	static const char *const called[] = { "malloc",
					      "free",
					      "aligned_alloc",
					      "_Znwm",
					      "_ZdlPv",
					      "_ZnwmSt11align_val_t",
					      "_ZdlPvSt11align_val_t" };

	for (unsigned i = 0; i < sizeof(called) / sizeof(called[0]); i++)
		if (!si_is_ours(si_owner(called[i])))
			return false;
	return true;
}

static enum si_new_mode find_new_mode(void)
{
	if (!si_next.new && !si_next.delete)
		return SI_NEW_SCOPED;
	if (!all_reach_us())
		return SI_NEW_THROUGH;
	return si_is_cxx_runtime((const void *)si_next.new) &&
			       si_is_cxx_runtime((const void *)si_next.delete)
		       ? SI_NEW_DIRECT
		       : SI_NEW_OUTER;
}

/* Stores the next function of that name; `slot` stays unchanged if there is none. */
static void find(void *slot, const char *symbol)
{
	void *real = si_next_of(symbol);

	if (real)
		__atomic_store_n((void **)slot, real, __ATOMIC_RELEASE);
}

/* Returns the function that the program reaches under that name; NULL: ours. */
static void *public(const char *symbol)
{
	const void *owner = si_owner(symbol);

	return si_is_ours(owner) ? NULL : (void *)(uintptr_t)owner;
}

void si_next_resolve(void)
{
	const struct link_map *libc;
	int saved = errno;

	if (resolving || __atomic_load_n(&resolved, __ATOMIC_ACQUIRE))
		return;
	resolving = true;
#define SI_HOOK(id, symbol, result, parameters) \
	if (!si_next.id) \
		find(&si_next.id, #symbol);
#define SI_STUB(id, symbol) find(&si_next_##id, #symbol);
#include "hook_list.def"
	libc = si_libc();
	libc_dlsym = libc ? si_symbol_in(libc, "dlsym") : NULL;
	si_public_free = public("free");
	si_public_realloc = public("realloc");
	__atomic_store_n(&si_new_mode, find_new_mode(), __ATOMIC_RELAXED);
	find(&si_next.malloc, "malloc");
	find(&si_next.calloc, "calloc");
	find(&si_next.realloc, "realloc");
	find(&si_next.malloc_usable_size, "malloc_usable_size");
	find(&si_next.free, "free");
#define SI_GUARD(id, result, parameters, arguments) si_guard_##id(&si_next.id);
	SI_GUARDED(SI_GUARD)
	si_guard_free(&si_next.free);
	__atomic_store_n(&resolved, true, __ATOMIC_RELEASE);
	resolving = false;
	errno = saved;
}
