/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next.h: the real functions: those that each hooked call would have reached without us.
 *
 * Runs:      inside.
 * Signals:   the table may be used anywhere; filling it happens in the constructor, or at the first
 *            call before that.
 * Allocates: nothing of the program's; requests meanwhile are served from a bump area
 * (si_bump_owns).
 * Threads:   any; threads that fill the table at once write the same values.
 */
#ifndef SI_NEXT_H
#define SI_NEXT_H

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include "../core/base.h"

struct si_next {
#define SI_HOOK(id, symbol, result, parameters) result(*id) parameters;
#include "hook_list.def"
};

/* malloc, calloc, realloc, free and malloc_usable_size are never NULL, even before the table is
 * filled. */
SI_INTERNAL struct si_next si_next;

/* The stubs' real functions: assembly reaches a variable by name, but no member of a struct. */
#define SI_HOOK(id, symbol, result, parameters)
#define SI_STUB(id, symbol) SI_INTERNAL void *si_next_##id;
#include "hook_list.def"

/* The real function of a rarely called hook; NULL where the system has none. */
#define SI_NEXT(id) \
	(__builtin_expect(si_next.id != NULL, 1) ? si_next.id : (si_next_resolve(), si_next.id))

/* Fills the table, at the constructor's call or at an earlier hook's. */
void si_next_resolve(void);

/*
 * The action of operator new and delete hooks. It depends on the functions that the program would
 * have called, and on those that these call: libstdc++'s array, nothrow and sized forms call the
 * plain forms by name, and the plain forms call malloc and free by name.
 */
enum si_new_mode {
	SI_NEW_UNKNOWN = 0,
	SI_NEW_DIRECT,  /* libstdc++'s or libc++'s operators, whose malloc and free are hooked: do
	                 * their work in the hook */
	SI_NEW_OUTER,   /* another library's (tcmalloc, jemalloc): call it, record the block, but no
	                 * calls underneath */
	SI_NEW_THROUGH, /* the program replaced a form that these call by name: call on, the hooks
	                 * underneath record */
	SI_NEW_SCOPED,  /* no C++ run-time in the global scope: use each caller's own
	                 * (hooks_new.c) */
};
SI_INTERNAL enum si_new_mode si_new_mode;

/* True if `address` lies in a C++ run-time library whose operators are malloc and free with a
 * new-handler. */
bool si_is_cxx_runtime(const void *address);

/* Returns the function that the program's calls of `symbol` reach: the first definition of all
 * modules; NULL: there is none. */
const void *si_owner(const char *symbol);
/* Returns the first definition after ours, or NULL. */
void *si_next_of(const char *symbol);
/* Finds the symbol in the scope of the module at `pc`, that is, itself and the modules that it
 * needs; NULL: it is not there. Slow. */
void *si_scope_symbol(uintptr_t pc, const char *symbol);
bool si_is_ours(const void *address);
/* Returns the C library's module; other libraries may have functions of the same names. */
const struct link_map *si_libc(void);

/*
 * The program's own free and realloc, where they come before ours; else NULL. Functions that only
 * we define, or that libc builds on the public ones (reallocarray), then call these.
 */
SI_INTERNAL void (*si_public_free)(void *);
SI_INTERNAL void *(*si_public_realloc)(void *, size_t);

SI_INTERNAL char si_bump[];
enum { SI_BUMP_BYTES = 64 * 1024 };

/* True for a block of the bump area: it was allocated before the real allocator was known, and is
 * never recorded and never freed. */
static inline bool si_bump_owns(const void *block)
{
	return (uintptr_t)block - (uintptr_t)si_bump < SI_BUMP_BYTES;
}
size_t si_bump_size(const void *block);

#endif
