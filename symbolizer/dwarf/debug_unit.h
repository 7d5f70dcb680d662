/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_unit.h: one compilation unit: its functions, inlined functions, and the containers of its
 * DIEs.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: about 100 bytes a scope (mem.h). Threads: one at a
 * time.
 *
 * debug_units.h owns the units and loads them; the other files of this room read them.
 */
#ifndef SHINY_SYM_DEBUG_UNIT_H
#define SHINY_SYM_DEBUG_UNIT_H

#include "debug_ranges.h"

#define DEBUG_DEPTH_MAX 512
#define NO_SCOPE UINT32_MAX

/* A function, or a function inlined into another one, that has code. */
struct unit_scope {
	Dwarf_Die die;
	const char *name; /* demangled; "": unknown; NULL: not requested yet */
	uint64_t entry; /* start of its first range */
	uint32_t parent; /* the scope that this one was inlined into; NO_SCOPE for a function */
	uint32_t call_file, call_line;
	bool bare; /* the name isn't a demangled one */
};

/*
 * A namespace, class or function: the part before "::" in a name. It contains the DIEs whose
 * offsets are in [start, end]. libdw 0.188 has no way from a DIE to its parent; this is ours.
 */
struct die_container {
	Dwarf_Off start, end;
	const char *name; /* as in the file; NULL: anonymous */
	uint32_t parent; /* NO_SCOPE: none */
	int tag;
};

struct debug_unit {
	Dwarf_Die skeleton; /* the unit's DIE in the file */
	Dwarf_Die die; /* the DIE with the content: the same, or the .dwo's */
	uint32_t index; /* among the units of the file */
	bool loaded;
	VEC(struct unit_scope) scopes;
	VEC(struct die_container) containers; /* sorted by start */
	struct code_ranges ranges; /* of the scopes */
};

/* Walks the unit's DIEs and collects its scopes and containers; `file` tells which addresses are
 * code. Reads `limit` DIEs at most. */
void debug_unit_walk(struct debug_unit *unit, const struct binary *file, uint64_t limit);
void debug_unit_free(struct debug_unit *unit);

/* Returns the innermost container around `die` (not itself), as an index of the unit's containers;
 * NO_SCOPE: none. */
uint32_t debug_unit_container(const struct debug_unit *unit, Dwarf_Die *die);
/* Gets the container's DIE. */
bool debug_unit_container_die(const struct debug_unit *unit, uint32_t container, Dwarf_Die *out);

#endif
