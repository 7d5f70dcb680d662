/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watched_slots.h: notes where a run time keeps functions of its allocator that lead to us, and
 * counts those that do so no more.
 *
 * Runs: inside. Signals: safe. Allocates: nothing. Threads: any.
 *
 * CPython calls its allocator through a struct: a context, and four functions. The program may set
 * another one when it starts (PYTHONMALLOC), or one that calls ours (tracemalloc, debug hooks): its
 * context then is a struct that begins with ours, or has it behind one word.
 */
#ifndef SI_WATCHED_SLOTS_H
#define SI_WATCHED_SLOTS_H

#include <stdint.h>

/* Watches the struct at `slots`, in writable data of a module that is never unloaded. */
void si_slots_watch(const uintptr_t *slots, uintptr_t start, uintptr_t end);

/* Counts a struct that does not lead to us, once. */
void si_slots_check(void);

#endif
