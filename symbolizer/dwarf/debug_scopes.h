/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_scopes.h: finds the functions and inlined functions around an address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_SCOPES_H
#define SHINY_SYM_DEBUG_SCOPES_H

#include "debug_units.h"

struct code_range;
struct unit_scope;

/* A function or inlined function that covers an address. */
struct debug_scope {
	Dwarf_Die die; /* DW_TAG_subprogram or DW_TAG_inlined_subroutine */
	Dwarf_Die code; /* the DIE with the addresses: the same, except with an overlay */
	const char *name; /* demangled with its scopes and, if known, parameters; NULL: unknown */
	bool bare; /* the name isn't a demangled one and has no parameters: a C function's, or one
	            * without a linkage name (gcc) */
	bool inlined; /* inlined into the next scope */
	bool earlier; /* debug_scopes_behind(): other code of it precedes the address */
	uint32_t call_file, call_line; /* of an inlined one: the place of its call */
	uint64_t low, high; /* the range that covers the address */
	uint32_t id; /* number of the scope in its unit: the same scope has the same id */
};
/* Finds the scopes of `vaddr`, innermost first; returns their number, at most `room`. */
size_t debug_scopes_at(struct debug_units *units, uint64_t vaddr, struct debug_scope *out,
		       size_t room);

/*
 * Finds the inlined scopes that lie directly in the scope `parent` (from debug_scopes_at()) and
 * have code at or after `vaddr` in the part of the function that contains `parent`'s range; low and
 * high are the first such piece. Sorted by address. Compilers mix the pieces of neighbours: pieces
 * in the parent's own range come first, and `earlier` refers to that range then, else to the whole
 * part.
 */
size_t debug_scopes_behind(struct debug_units *units, uint64_t vaddr,
			   const struct debug_scope *parent, struct debug_scope *out, size_t room);

/* Finds the other part of a function that the compiler split into a hot and a cold one: the largest
 * of its pieces except the one at `low`. False: it is in one piece. */
bool debug_scopes_other_part(const struct debug_scope *function, uint64_t *low, uint64_t *high);

/* Returns the path of a scope's call_file, interned; NULL: unknown. */
const char *debug_scopes_call_file(struct debug_units *units, struct debug_scope *scope);

/* Returns a function's name, as in debug_scope; NULL: it has none. */
const char *debug_scopes_function_name(struct debug_units *units, Dwarf_Die *function);

/* Finds the function that starts at `vaddr` (its DW_TAG_subprogram). False: there is none. */
bool debug_scopes_function_at(struct debug_units *units, uint64_t vaddr, Dwarf_Die *out);

/* For this room: returns the innermost scope that covers `vaddr`, with its unit and range; NULL:
 * none. */
struct unit_scope *debug_scopes_innermost(struct debug_units *units, uint64_t vaddr,
					  struct debug_unit **unit,
					  const struct code_range **range);

#endif
