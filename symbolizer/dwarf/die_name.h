/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_name.h: names types and functions from their DIEs.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names, and a memo until the units are closed.
 * Threads: one at a time.
 *
 * Spelling. Scopes are joined by "::" and include "(anonymous namespace)"; template arguments are
 * written from their own DIEs if the name has none (-gsimple-template-names); everything else is
 * spelled as die_normalize.h says.
 */
#ifndef SHINY_SYM_DIE_NAME_H
#define SHINY_SYM_DIE_NAME_H

#include "debug_units.h"

/* Returns the name with its scopes of a class, enumeration, typedef, namespace or function,
 * interned. NULL: absurd DWARF. */
const char *die_name(struct debug_units *units, Dwarf_Die *die);

/* Returns the text of any type, interned; NULL `die`: void. `written`: with its typedefs as in the
 * source. NULL: absurd DWARF. */
const char *die_type_text(struct debug_units *units, Dwarf_Die *die, bool written);

#endif
