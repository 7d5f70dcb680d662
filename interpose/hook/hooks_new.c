/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_new.c: all forms of operator new and delete.
 *
 * Runs:      inside, in place of the C++ run-time's operators.
 * Signals:   as malloc and free.
 * Allocates: what the program asked for.
 * Threads:   any.
 *
 * They end in malloc, but are hooked so that the return address is the call site, and so that the
 * session knows which form a block came from. Each block may cause one event only, and nothing may
 * change for the program, whichever library the operators and malloc belong to:
 *
 *  - libstdc++'s and libc++'s operators are malloc, free and a new-handler. Where their malloc and
 *    free would come to our hooks, the hook does the malloc itself; only when that fails the real
 *    operator runs, for the new-handler and bad_alloc (SI_NEW_DIRECT).
 *  - tcmalloc, jemalloc, mimalloc below us define operators of their own: call those, record the
 *    block once (SI_NEW_OUTER).
 *  - A program that replaces plain new and delete, but not, say, sized delete, relies on
 *    libstdc++'s sized delete calling its own plain one. Freeing there directly would hand malloc's
 *    free a block of the program's pool. The same holds when the program has its own malloc. So
 *    call through and record nothing: the hook of the malloc underneath records the block
 *    (SI_NEW_THROUGH).
 *  - A C program that opens a C++ library: our operators are in the global scope, libstdc++'s are
 *    not, so RTLD_NEXT finds nothing, yet the library's calls come here. Each calling module would
 *    have found its operators in its own scope; look there, once a module (SI_NEW_SCOPED).
 */
#define _GNU_SOURCE
#include "hooks.h"

#include <dlfcn.h>
#include <link.h>

typedef void *si_new_fn(uintptr_t, uintptr_t, uintptr_t);
typedef void si_delete_fn(uintptr_t, uintptr_t, uintptr_t);

/* One call of an operator, for the slow paths. `base` is the form that libstdc++'s version of it
 * calls by name. */
struct operator_call {
	const uintptr_t *fp;
	uintptr_t a, b, c; /* the caller's arguments; a function that takes fewer ignores the
	                    * others */
	const void *real;
	const char *symbol, *base;
	size_t size, align;
	enum shiny_api api;
};

/* ---- the modules of SI_NEW_SCOPED ---- */

enum { MODULES = 64, PAGE_SHIFT = 12, PAGES_BITS = 26 };

/* One word an entry, so that it is whole or absent: 63..28 first page, 27..2 pages, 1 custom, 0
 * used. */
static uint64_t modules[MODULES];
static uint32_t modules_used;

/* Forgets all modules: after a dlclose, another module may be mapped at the same place. */
void si_new_forget_modules(void)
{
	for (unsigned i = 0; i < MODULES; i++)
		__atomic_store_n(&modules[i], 0, __ATOMIC_RELAXED);
}

/* True if the module has operators that are not a C++ run-time's. */
static bool scope_is_custom(uintptr_t pc)
{
	static const char *const bases[] = { "_Znwm", "_ZdlPv", "_ZnwmSt11align_val_t",
					     "_ZdlPvSt11align_val_t" };

	for (unsigned i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		const void *real = si_scope_symbol(pc, bases[i]);

		if (real && !si_is_cxx_runtime(real))
			return true;
	}
	return false;
}

static bool caller_is_custom(uintptr_t pc)
{
	struct dl_find_object found;
	uint64_t pages, word, page = pc >> PAGE_SHIFT;
	bool custom;

	for (unsigned i = 0; i < MODULES; i++) {
		word = __atomic_load_n(&modules[i], __ATOMIC_RELAXED);
		if (word && page - (word >> (PAGES_BITS + 2)) <
				    (word >> 2 & ((UINT64_C(1) << PAGES_BITS) - 1)))
			return word & 2;
	}
	if (_dl_find_object((void *)pc, &found) != 0)
		return false;
	custom = scope_is_custom(pc);
	pages = ((uintptr_t)found.dlfo_map_end - (uintptr_t)found.dlfo_map_start + 4095) >>
		PAGE_SHIFT;
	word = ((uint64_t)(uintptr_t)found.dlfo_map_start >> PAGE_SHIFT) << (PAGES_BITS + 2) |
	       pages << 2 | (custom ? 2 : 0) | 1;
	__atomic_store_n(&modules[__atomic_fetch_add(&modules_used, 1, __ATOMIC_RELAXED) % MODULES],
			 word, __ATOMIC_RELAXED);
	return custom;
}

/*
 * Returns the operator that the caller's module would have called. If that is the run-time's, which
 * would call the module's own base form by name and find ours instead, returns the base form
 * itself.
 */
static const void *scoped_operator(const struct operator_call *call, bool *is_base)
{
	const void *real = si_scope_symbol(call->fp[1], call->symbol);

	*is_base = false;
	if (!real || !si_is_cxx_runtime(real) || !caller_is_custom(call->fp[1]))
		return real;
	*is_base = true;
	return si_scope_symbol(call->fp[1], call->base);
}

/* ---- new ---- */

/* Allocates as the C++ run-times do before they call the new-handler. NULL also for an alignment
 * that they refuse. */
static inline void *direct_new(size_t size, size_t align)
{
	size_t rounded;

	if (!align)
		return si_next.malloc(size ? size : 1);
	if (align & (align - 1))
		return NULL;
	if (align < sizeof(void *))
		align = sizeof(void *);
	if (__builtin_add_overflow(size ? size : 1, align - 1, &rounded) || !SI_NEXT(aligned_alloc))
		return NULL;
	return si_next.aligned_alloc(align, rounded & -align);
}

/* See SI_OUTER_PERSONALITY. Return values and the flag are those of the Itanium C++ ABI, level I: 8
 * is _URC_CONTINUE_UNWIND, 2 is _UA_CLEANUP_PHASE. */
__attribute__((used)) int si_outer_unwound(int version, int actions, uint64_t class,
					   void *exception, void *context)
{
	(void)version, (void)class, (void)exception, (void)context;
	if (actions & 2)
		si_outer = NULL;
	return 8;
}

static __attribute__((noinline, cold)) void *outer_new(const struct operator_call *call)
{
	void *block;

	SI_OUTER_PERSONALITY();
	si_outer = call->fp;
	block = ((si_new_fn *)(uintptr_t)call->real)(call->a, call->b, call->c);
	si_outer = NULL;
	return si_record_alloc(call->fp, block, call->size, call->api);
}

static void *scoped_new(const struct operator_call *call)
{
	void *block = NULL;
	const void *real;
	bool is_base;

	if (!caller_is_custom(call->fp[1]))
		block = si_record_alloc(call->fp, direct_new(call->size, call->align), call->size,
					call->api);
	if (block)
		return block;
	real = scoped_operator(call, &is_base);
	if (!real)
		return NULL; /* without a C++ run-time nothing can throw */
	return ((si_new_fn *)(uintptr_t)real)(call->a, is_base ? call->align : call->b, call->c);
}

static __attribute__((noinline, cold)) void *new_slow(const struct operator_call *call)
{
	if (si_new_mode == SI_NEW_OUTER && call->real && !si_nested(call->fp))
		return outer_new(call);
	if (si_new_mode == SI_NEW_SCOPED)
		return scoped_new(call);
	if (!call->real || si_new_mode == SI_NEW_UNKNOWN)
		return si_record_alloc(call->fp, direct_new(call->size, call->align), call->size,
				       call->api);
	return ((si_new_fn *)(uintptr_t)call->real)(call->a, call->b, call->c);
}

#define NEW(id, symbol_text, base_text, parameters, a_, b_, c_, align_, api_)   \
	void *si_hook_##id parameters                                           \
	{                                                                       \
		const uintptr_t *fp = SI_FRAME();                               \
                                                                                \
		if (__builtin_expect(si_new_mode == SI_NEW_UNKNOWN, 0))         \
			si_next_resolve();                                      \
		if (__builtin_expect(si_new_mode == SI_NEW_DIRECT, 1)) {        \
			void *block = direct_new(size, align_);                 \
                                                                                \
			if (__builtin_expect(block != NULL, 1))                 \
				return si_record_alloc(fp, block, size, api_);  \
		}                                                               \
		struct operator_call call = { .fp = fp,                         \
					      .a = a_,                          \
					      .b = (uintptr_t)(b_),             \
					      .c = (uintptr_t)(c_),             \
					      .real = (const void *)si_next.id, \
					      .symbol = symbol_text,            \
					      .base = base_text,                \
					      .size = size,                     \
					      .align = align_,                  \
					      .api = api_ };                    \
		return new_slow(&call);                                         \
	}

#define PLAIN_NEW      "_Znwm"
#define ALIGNED_NEW    "_ZnwmSt11align_val_t"
#define PLAIN_DELETE   "_ZdlPv"
#define ALIGNED_DELETE "_ZdlPvSt11align_val_t"

NEW(new, "_Znwm", PLAIN_NEW, (size_t size), size, 0, 0, 0, SHINY_API_NEW)
NEW(new_array, "_Znam", PLAIN_NEW, (size_t size), size, 0, 0, 0, SHINY_API_NEW_ARRAY)
NEW(new_nothrow, "_ZnwmRKSt9nothrow_t", PLAIN_NEW, (size_t size, const void *tag), size, tag, 0, 0,
    SHINY_API_NEW)
NEW(new_array_nothrow, "_ZnamRKSt9nothrow_t", PLAIN_NEW, (size_t size, const void *tag), size, tag,
    0, 0, SHINY_API_NEW_ARRAY)
NEW(new_aligned, "_ZnwmSt11align_val_t", ALIGNED_NEW, (size_t size, size_t align), size, align, 0,
    align, SHINY_API_NEW_ALIGNED)
NEW(new_array_aligned, "_ZnamSt11align_val_t", ALIGNED_NEW, (size_t size, size_t align), size,
    align, 0, align, SHINY_API_NEW_ARRAY_ALIGNED)
NEW(new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", ALIGNED_NEW,
    (size_t size, size_t align, const void *tag), size, align, tag, align, SHINY_API_NEW_ALIGNED)
NEW(new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", ALIGNED_NEW,
    (size_t size, size_t align, const void *tag), size, align, tag, align,
    SHINY_API_NEW_ARRAY_ALIGNED)

/* ---- delete ---- */

/* Frees a block for the nursery reader that holds it: the plain form of delete frees blocks of
 * every form there. */
static void release_outer(void *block)
{
	const uintptr_t *before = si_outer;

	si_outer = SI_FRAME();
	si_next.delete(block);
	si_outer = before;
}

static void scoped_delete(const struct operator_call *call)
{
	const void *real;
	bool is_base;

	if (!caller_is_custom(call->fp[1])) {
		if (si_record_free(call->fp, (void *)call->a, call->size, call->api))
			si_next.free((void *)call->a);
		return;
	}
	real = scoped_operator(call, &is_base);
	if (real)
		((si_delete_fn *)(uintptr_t)real)(call->a, is_base ? call->align : call->b,
						  call->c);
}

static __attribute__((noinline, cold)) void delete_slow(const struct operator_call *call)
{
	if (si_new_mode == SI_NEW_SCOPED) {
		scoped_delete(call);
		return;
	}
	if (!call->real || si_new_mode == SI_NEW_UNKNOWN) {
		if (si_record_free(call->fp, (void *)call->a, call->size, call->api))
			si_next.free((void *)call->a);
		return;
	}
	if (si_new_mode == SI_NEW_OUTER && !si_nested(call->fp)) {
		if (!si_event_free(call->fp, (void *)call->a, call->size, call->api, release_outer))
			return;
		si_outer = call->fp; /* delete does not throw */
		((si_delete_fn *)(uintptr_t)call->real)(call->a, call->b, call->c);
		si_outer = NULL;
		return;
	}
	((si_delete_fn *)(uintptr_t)call->real)(call->a, call->b, call->c);
}

#define DELETE(id, symbol_text, base_text, parameters, b_, c_, claimed_, align_, api_) \
	void si_hook_##id parameters                                                   \
	{                                                                              \
		const uintptr_t *fp = SI_FRAME();                                      \
                                                                                       \
		if (!block || __builtin_expect(si_bump_owns(block), 0))                \
			return;                                                        \
		if (__builtin_expect(si_new_mode == SI_NEW_UNKNOWN, 0))                \
			si_next_resolve();                                             \
		if (__builtin_expect(si_new_mode == SI_NEW_DIRECT, 1)) {               \
			if (si_record_free(fp, block, claimed_, api_))                 \
				si_next.free(block);                                   \
			return;                                                        \
		}                                                                      \
		struct operator_call call = { .fp = fp,                                \
					      .a = (uintptr_t)block,                   \
					      .b = (uintptr_t)(b_),                    \
					      .c = (uintptr_t)(c_),                    \
					      .real = (const void *)si_next.id,        \
					      .symbol = symbol_text,                   \
					      .base = base_text,                       \
					      .size = claimed_,                        \
					      .align = align_,                         \
					      .api = api_ };                           \
		delete_slow(&call);                                                    \
	}

DELETE(delete, "_ZdlPv", PLAIN_DELETE, (void *block), 0, 0, 0, 0, SHINY_API_DELETE)
DELETE(delete_array, "_ZdaPv", PLAIN_DELETE, (void *block), 0, 0, 0, 0, SHINY_API_DELETE_ARRAY)
DELETE(delete_nothrow, "_ZdlPvRKSt9nothrow_t", PLAIN_DELETE, (void *block, const void *tag), tag, 0,
       0, 0, SHINY_API_DELETE)
DELETE(delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", PLAIN_DELETE, (void *block, const void *tag),
       tag, 0, 0, 0, SHINY_API_DELETE_ARRAY)
DELETE(delete_sized, "_ZdlPvm", PLAIN_DELETE, (void *block, size_t size), size, 0, size, 0,
       SHINY_API_DELETE)
DELETE(delete_array_sized, "_ZdaPvm", PLAIN_DELETE, (void *block, size_t size), size, 0, size, 0,
       SHINY_API_DELETE_ARRAY)
DELETE(delete_aligned, "_ZdlPvSt11align_val_t", ALIGNED_DELETE, (void *block, size_t align), align,
       0, 0, align, SHINY_API_DELETE_ALIGNED)
DELETE(delete_array_aligned, "_ZdaPvSt11align_val_t", ALIGNED_DELETE, (void *block, size_t align),
       align, 0, 0, align, SHINY_API_DELETE_ARRAY_ALIGNED)
DELETE(delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", ALIGNED_DELETE,
       (void *block, size_t align, const void *tag), align, tag, 0, align, SHINY_API_DELETE_ALIGNED)
DELETE(delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", ALIGNED_DELETE,
       (void *block, size_t align, const void *tag), align, tag, 0, align,
       SHINY_API_DELETE_ARRAY_ALIGNED)
DELETE(delete_sized_aligned, "_ZdlPvmSt11align_val_t", ALIGNED_DELETE,
       (void *block, size_t size, size_t align), size, align, size, align, SHINY_API_DELETE_ALIGNED)
DELETE(delete_array_sized_aligned, "_ZdaPvmSt11align_val_t", ALIGNED_DELETE,
       (void *block, size_t size, size_t align), size, align, size, align,
       SHINY_API_DELETE_ARRAY_ALIGNED)
