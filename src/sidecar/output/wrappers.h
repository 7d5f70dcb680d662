/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrappers.h: finds a program's wrappers of malloc, whose own call sites say nothing about a block.
 *
 * Runs: sidecar. Signals: no. Allocates: yes, some 20 bytes a stack and frame. Threads: one.
 *
 * A wrapper is found, not listed (boring.rules and users' rules have those that no code shows): it
 * passes the block on to its caller unchanged, or filled with a copy of its argument, and it is
 * declared void *f(…, size_t, …). Without debug information, or if it calls more functions, its
 * uses must show it: WRAPPER_CALLERS functions call it for blocks of WRAPPER_SIZES sizes. The
 * search goes from the innermost frame outwards: a caller of a function that is no wrapper is none
 * either.
 */
#ifndef SHINY_WRAPPERS_H
#define SHINY_WRAPPERS_H

#include "../../../symbolizer/sym.h"
#include "../state/output.h"
#include "../state/people.h"

enum { WRAPPER_CALLERS = 3, WRAPPER_SIZES = 3, WRAPPER_DEPTH = 6 };

/* Writes the frames that lie in wrappers to the session file, and the names of the user's rules.
 * `modules`: by module id. */
void wrappers_find(const struct people *people, struct output *output, const struct sym *sym,
		   struct sym_module *const *modules);

#endif
