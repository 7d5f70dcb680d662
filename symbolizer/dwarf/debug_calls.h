/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_calls.h: what the debug information says of a call.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_CALLS_H
#define SHINY_SYM_DEBUG_CALLS_H

#include "debug_scopes.h"

/* The DIE of the call in `function` that returns to `ret`; false: there is none. */
bool debug_calls_at(const struct debug_scope *function, uint64_t ret, Dwarf_Die *out);

/* The readable name of the function that this call is of, as it was written; NULL: not known. */
const char *debug_calls_origin(struct debug_units *units, const struct debug_scope *function,
			       uint64_t ret);

#endif
