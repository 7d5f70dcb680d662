/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_path.h: writes a function's name with its scopes and without template arguments.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_DIE_PATH_H
#define SHINY_SYM_DIE_PATH_H

#include "debug_units.h"

/* Returns "std::vector::push_back", interned; NULL: the function has no name. */
const char *die_function_path(struct debug_units *units, Dwarf_Die *function);

#endif
