/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_scopes.h: the functions and inlined functions around an address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_SCOPES_H
#define SHINY_SYM_DEBUG_SCOPES_H

#include "debug_units.h"

struct code_range;
struct unit_scope;

/* A function or an inlined one that covers an address. */
struct debug_scope {
	Dwarf_Die die; /* DW_TAG_subprogram or DW_TAG_inlined_subroutine */
	Dwarf_Die code; /* the one with the addresses: the same, but for an overlay */
	const char *name; /* demangled with its scopes and, where known, parameters; NULL unknown */
	bool bare; /* the name isn't a demangled one: it has no parameters, a C function's or one
		    * that gcc gives no linkage name */
	bool inlined; /* into the next scope */
	bool earlier; /* debug_scopes_behind(): other code of it lies before the address */
	uint32_t call_file, call_line; /* of an inlined one: where it was called */
	uint64_t low, high; /* the range that covers the address */
	uint32_t id; /* of the scope in its unit, to compare: the same scope has the same id */
};
/* Innermost first; returns their number, at most `room`. */
size_t debug_scopes_at(struct debug_units *units, uint64_t vaddr, struct debug_scope *out,
		       size_t room);

/*
 * The inlined scopes that lie directly in the scope `parent` (as debug_scopes_at() gave it) and
 * have code at or behind `vaddr` in the part of the function that `parent`'s range is in; low and
 * high are the first such piece. Sorted by address. Compilers mix the pieces of neighbours: pieces
 * in the parent's own range come first, and `earlier` speaks of that range then, else of the whole
 * part.
 */
size_t debug_scopes_behind(struct debug_units *units, uint64_t vaddr,
			   const struct debug_scope *parent, struct debug_scope *out, size_t room);

/* The other part of a function that the compiler has split into a hot and a cold one: the largest
 * of its pieces, the one at `low` excepted. False: it is in one piece. */
bool debug_scopes_other_part(const struct debug_scope *function, uint64_t *low, uint64_t *high);

/* The path that a scope's call_file stands for, interned; NULL unknown. */
const char *debug_scopes_call_file(struct debug_units *units, struct debug_scope *scope);

/* A function's name as debug_scope has it. */
const char *debug_scopes_function_name(struct debug_units *units, Dwarf_Die *function);

/* The function that begins at `vaddr` (its DW_TAG_subprogram); false: none. */
bool debug_scopes_function_at(struct debug_units *units, uint64_t vaddr, Dwarf_Die *out);

/* For this room: the innermost scope that covers `vaddr`, with its unit and range; NULL: none. */
struct unit_scope *debug_scopes_innermost(struct debug_units *units, uint64_t vaddr,
					  struct debug_unit **unit,
					  const struct code_range **range);

#endif
