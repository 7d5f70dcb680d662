/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_overlay.h: replaces one function's DIEs by those of another function with the same code.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 40 bytes a DIE of the function (mem.h). Threads: one
 * at a time.
 *
 * A linker that folds equal functions keeps the addresses of one of them (lld), so that the others'
 * DIEs have types and names and no addresses. While an overlay is on, debug_scopes.h and
 * debug_variables.h find scopes and variables by the addresses of the kept function, and return the
 * DIEs of the other one.
 */
#ifndef SHINY_SYM_DEBUG_OVERLAY_H
#define SHINY_SYM_DEBUG_OVERLAY_H

#include "debug_units.h"

/* Puts the function `other` over `kept`. NULL: removes the overlay. The caller holds the units
 * meanwhile. */
void debug_overlay_set(struct debug_units *units, Dwarf_Die *kept, Dwarf_Die *other);

enum debug_overlay {
	DEBUG_OVERLAY_NONE,    /* nothing lies over `die` */
	DEBUG_OVERLAY_OTHER,   /* *die is the other function's now */
	DEBUG_OVERLAY_MISSING, /* the other function has no such DIE: *die is its unit */
};
enum debug_overlay debug_overlay_die(struct debug_units *units, Dwarf_Die *die);

#endif
