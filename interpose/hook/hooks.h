/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h: the hooks' declarations, from hook_list.def, and helpers that their files share.
 *
 * Runs:      inside, as the program's malloc, operator new, mmap, …
 * Signals:   as the function that is hooked.
 * Allocates: what the real function allocates.
 * Threads:   any.
 *
 * A hook is a C function si_hook_<id> whose symbol is the hooked one. The compiler never sees a
 * function that is called "malloc", so it makes no assumption about it. In the test library the
 * symbols are not taken: a test calls si_hook_malloc.
 */
#ifndef SI_HOOKS_H
#define SI_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/attaching.h>

#include "inner_calls.h"
#include "next.h"
#include "record_event.h"

#ifdef SHINY_TEST
#define SI_EXPORTED(symbol)
#else
#define SI_EXPORTED(symbol) __asm__(#symbol) __attribute__((visibility("default")))
#endif

#define SI_HOOK(id, symbol, result, parameters) result si_hook_##id parameters SI_EXPORTED(symbol);
#define SI_GATED(id, symbol, result, parameters) SI_INTERNAL result si_hook_##id parameters;
#define SI_OWN SI_HOOK
#define SI_ENTRY SI_HOOK
#include "hook_list.def"

/* The hook's own frame: [1] is the return address, which is the call site; [0] the caller's frame
 * pointer. */
#define SI_FRAME() ((const uintptr_t *)__builtin_frame_address(0))

/*
 * Makes the function that contains it clear the mark when an exception passes through. Nothing else
 * has to be done there, so neither a landing pad nor the language's own personality, and its
 * library, is needed. The function must not be inlined.
 */
#define SI_OUTER_PERSONALITY() __asm__ volatile(".cfi_personality 0x1b, si_outer_unwound")
SI_INTERNAL int si_outer_unwound(int version, int actions, uint64_t class, void *exception,
				 void *context);

/* True if the call of the hook with frame `fp` was made by an operator that records the block, or
 * by the function below our malloc, free or new. */
bool si_is_from_below(const uintptr_t *fp);

static inline void *si_record_alloc(const uintptr_t *fp, void *block, size_t size,
				    enum shiny_api api)
{
	if (block && SI_UNLIKELY(si_nested(fp)))
		si_inner_block(fp, block);
	else if (block)
		si_event_alloc(fp, block, size, api);
	return block;
}

/* Forgets which modules have operators of their own, after a dlclose (hooks_new.c). */
void si_new_forget_modules(void);

/* Notes that this process changes what it can reach (hooks_reach.c); tells whether it has done so;
 * tells whether system call `call` does so. */
void si_reach_changes(void);
bool si_reach_has_changed(void);
bool si_reach_is_changed_by(long call);

/* Frees what a vfork child that became another program could not; called when the parent
 * resumes. */
void si_exec_vfork_over(void);

/* Records the mapping calls made before the engine ran. */
void si_map_replay(void);

/* Does the work of realloc's hook, for the caller of the hook at `fp` and another function
 * `real`. */
typedef void *si_realloc_fn(const uintptr_t *fp, void *block, size_t size);
void *si_realloc_at(const uintptr_t *fp, void *block, size_t size, void *(*real)(void *, size_t),
		    si_realloc_fn *by_hand);

/* Frees a block by the real free; the `release` of si_event_free. */
void si_release(void *block);

/* True: the caller must call the real function. */
static inline bool si_record_free(const uintptr_t *fp, void *block, size_t claimed,
				  enum shiny_api api)
{
	return si_nested(fp) || si_event_free(fp, block, claimed, api, si_release);
}

#endif
