/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_calls.h: finds the debug information of a call.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_CALLS_H
#define SHINY_SYM_DEBUG_CALLS_H

#include "debug_scopes.h"

/* Finds the DIE of the call in `function` that returns to `ret`. False: there is none. */
bool debug_calls_at(const struct debug_scope *function, uint64_t ret, Dwarf_Die *out);

/* Returns the readable name of the function that the source calls here; NULL: unknown. */
const char *debug_calls_origin(struct debug_units *units, const struct debug_scope *function,
			       uint64_t ret);

#endif
