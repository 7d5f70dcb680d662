/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watched_slots.h: notes where a run time keeps functions of its allocator that lead to us, counts
 * those that do so no more, and puts the original ones back for a while.
 *
 * Runs: inside. Signals: safe, except to step aside. Allocates: nothing. Threads: any; to step
 * aside and back: one, while no other one calls the allocator.
 *
 * CPython calls its allocator through a struct: a context, and four functions. The program may set
 * another one when it starts (PYTHONMALLOC), or one that calls ours (tracemalloc, debug hooks): its
 * context then is a struct that begins with ours, or has it behind one word.
 */
#ifndef SI_WATCHED_SLOTS_H
#define SI_WATCHED_SLOTS_H

#include <stdint.h>

enum { SI_SLOTS_WATCHED = 4, SI_SLOT_FUNCTIONS = 4 /* malloc, calloc, realloc, free */ };

/* Watches the struct at `slots`, which holds our functions in place of `real`, in [start, end), the
 * writable data of a module that is never unloaded. If it leads to the function `raw` later, its
 * blocks are malloc's, and seen there. */
void si_slots_watch(uintptr_t *slots, const uintptr_t *real, uintptr_t raw, uintptr_t start,
		    uintptr_t end);

/* Counts a struct that does not lead to us, once. */
void si_slots_check(void);

/* Puts the original functions in place of ours. places[] gets where, for si_slots_step_back. */
void si_slots_step_aside(uintptr_t *places[SI_SLOTS_WATCHED]);
void si_slots_step_back(uintptr_t *const places[SI_SLOTS_WATCHED]);

#endif
