/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_definitions.h: the classes and static variables of a whole file, by name and by address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: up to 128 MB for 4 million definitions (mem.h).
 * Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_DEFINITIONS_H
#define SHINY_SYM_DEBUG_DEFINITIONS_H

#include "debug_variables.h"

/*
 * The definition of a class or struct by its qualified name as die_type_text() spells it. False:
 * none. `near` is a DIE that the caller has in hand: then nothing is closed, and classes of an
 * anonymous namespace are looked for in its unit. NULL: a question from outside.
 */
bool debug_definitions_class(struct debug_units *units, const char *name, Dwarf_Die *near,
			     Dwarf_Die *out);

/* The global or static variable at an address; false: none. */
bool debug_definitions_global(struct debug_units *units, uint64_t vaddr,
			      struct debug_variable *out);

#endif
