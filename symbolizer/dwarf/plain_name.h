/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_name.h: names types whose names aren't composed of scopes and arguments.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the text. Threads: one at a time.
 */
#ifndef SHINY_SYM_PLAIN_NAME_H
#define SHINY_SYM_PLAIN_NAME_H

#include "debug_units.h"
#include "name_text.h"

/* Appends "{lambda at a.cc:12}". */
void plain_name_unnamed(struct debug_units *units, Dwarf_Die *die, struct name_text *out);

/* Appends "character(kind=1,len=10)" for a Fortran string, without the length if it varies. */
void plain_name_string(Dwarf_Die *string, struct name_text *out);

/* Returns an Ada name as debuggers show it, interned; `name` itself if `die` is not Ada, or it
 * can't be read. */
const char *plain_name_ada(struct debug_units *units, Dwarf_Die *die, const char *name);

#endif
