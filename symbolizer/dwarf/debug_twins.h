/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_twins.h: the functions that a linker has folded into the one at an address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 40 bytes a function that shares its address with
 * another one, from the first question about such an address on. Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_TWINS_H
#define SHINY_SYM_DEBUG_TWINS_H

#include "debug_units.h"

struct symbols;

struct debug_twin {
	Dwarf_Die die;	  /* of the function */
	const char *name; /* demangled, interned */
	const char *symbol;
};

/*
 * The functions, other than the one that debug_scopes_at() has, whose code is at `vaddr`: at most
 * `room`, in the order of their symbols; *count is how many there are. Each has a DIE of its own,
 * so that another name of one function is none. False: the debug information can't tell.
 */
bool debug_twins_at(struct debug_units *units, const struct symbols *functions, uint64_t vaddr,
		    struct debug_twin *out, size_t room, size_t *count);

/* From now on debug_scopes.h and debug_variables.h tell of `twin` at the addresses of the function
 * around `vaddr`. NULL: of that one itself. */
void debug_twins_use(struct debug_units *units, uint64_t vaddr, struct debug_twin *twin);

#endif
