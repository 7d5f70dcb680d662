/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrappers.h: finds the functions through which a program allocates: its own malloc, whose call
 * sites are everywhere and say nothing.
 *
 * Runs: sidecar. Signals: no. Allocates: yes, some 20 bytes a stack and frame. Threads: one.
 *
 * A wrapper is found, not listed (but boring.rules has what no code shows, and so do users' rules):
 * it hands the block on to its caller as it got it, or copies what it was given into it, and it is
 * declared so, void *f(…, size_t, …). Without debug information, or if it calls more than that
 * takes, its calls have to show it: WRAPPER_CALLERS functions call it for blocks of WRAPPER_SIZES
 * sizes.
 * From the inside outwards: what calls a function that is no wrapper is none either.
 */
#ifndef SHINY_WRAPPERS_H
#define SHINY_WRAPPERS_H

#include "../../../symbolizer/sym.h"
#include "../state/session.h"

enum { WRAPPER_CALLERS = 3, WRAPPER_SIZES = 3, WRAPPER_DEPTH = 6 };

/* Writes the frames that lie in wrappers to the session's file, and the names of the user's rules.
 * `modules`: by module id. */
void wrappers_find(struct session *session, const struct sym *sym,
		   struct sym_module *const *modules);

#endif
