/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_twins.h: finds the functions that a linker folded into the one at an address.
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
 * Lists the functions, other than the one that debug_scopes_at() finds, whose code is at `vaddr`:
 * at most `room`, in the order of their symbols; *count is the number of all. Each has a DIE of its
 * own, so that another name of one function is none. False: the debug information can't tell.
 */
bool debug_twins_at(struct debug_units *units, const struct symbols *functions, uint64_t vaddr,
		    struct debug_twin *out, size_t room, size_t *count);

/* Makes debug_scopes.h and debug_variables.h describe `twin` at the addresses of the function
 * around `vaddr`. NULL: that function itself. */
void debug_twins_use(struct debug_units *units, uint64_t vaddr, struct debug_twin *twin);

#endif
