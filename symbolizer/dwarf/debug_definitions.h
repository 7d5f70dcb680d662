/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_definitions.h: finds the classes and static variables of a whole file, by name and by
 * address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: up to 128 MB for 4 million definitions (mem.h).
 * Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_DEFINITIONS_H
#define SHINY_SYM_DEBUG_DEFINITIONS_H

#include "debug_variables.h"

/*
 * Finds the definition of a class or struct by its qualified name in the spelling of
 * die_type_text(). False: there is none. `near` is a DIE that the caller is using: then nothing is
 * closed, and classes of an anonymous namespace are searched in its unit. NULL: the units may be
 * closed first.
 */
bool debug_definitions_class(struct debug_units *units, const char *name, Dwarf_Die *near,
			     Dwarf_Die *out);

/* Finds the global or static variable at an address. False: there is none. */
bool debug_definitions_global(struct debug_units *units, uint64_t vaddr,
			      struct debug_variable *out);

#endif
