/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_calls.h: hooks for functions that only a struct shiny_allocator_call describes. Each entry
 * has a stub of its own by number; inner_allocator.c (by an entry patch), library_allocator.c (by a
 * symbol) or python_allocator.c (by a slot) redirects calls to it.
 *
 * Runs: inside, in place of an allocator's functions. Signals: as the program's malloc. Allocates:
 * the blocks that the program requests. Threads: any. An entry is filled before any call can reach
 * its stub.
 */
#ifndef SI_OWN_CALLS_H
#define SI_OWN_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/allocator.h>

#include "../core/base.h"
#include "../record/nursery.h"
#include "own_function.h"

struct si_own_function { /* a row of allocator.def, but an engine's */
	const char *name;
	struct shiny_allocator_call call;
};
SI_INTERNAL const struct si_own_function si_own_functions[SHINY_ALLOCATOR_FUNCTIONS];

enum {
	SI_OWN_PATCHED = 384, /* entries of the functions whose entries are patched */
	SI_OWN_SLOTS = 16,    /* of those that a run time has in a struct of such slots */
	SI_OWN_INNER = SI_OWN_PATCHED + SI_OWN_SLOTS,
	SI_OWN_INNER_FAMILIES = 16,
	SI_OWN_LIBRARIES = 8,
	SI_OWN_LIBRARY = 128, /* entries of each library whose symbols are changed */
	SI_OWN = SI_OWN_INNER + SI_OWN_LIBRARIES * SI_OWN_LIBRARY,
	SI_OWN_SLOT_FAMILIES = 8,
	/* those of patched entries, then one for each library, then those of slots */
	SI_OWN_FAMILIES = SI_OWN_INNER_FAMILIES + SI_OWN_LIBRARIES + SI_OWN_SLOT_FAMILIES
};
SI_INTERNAL struct si_own_family si_own_families[SI_OWN_FAMILIES];
SI_INTERNAL struct si_own si_own[SI_OWN];

#define SI_OWN_TEXT "1424"
_Static_assert(SI_OWN == 1424, "as many stubs as entries");

/* Fills entry `n`. */
void si_own_fill(unsigned n, const struct shiny_allocator_call *call, si_own_fn *real,
		 const struct si_own_family *family);

/* Returns the stub of entry `n`, which replaces the function. */
void *si_own_stub(unsigned n);

#endif
