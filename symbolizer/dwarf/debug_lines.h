/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_lines.h: finds the source line of an address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_LINES_H
#define SHINY_SYM_DEBUG_LINES_H

#include "debug_units.h"

/* Finds the line of an address, 0 if unknown, and its file, interned. False: neither is known. */
bool debug_lines_find(struct debug_units *units, uint64_t vaddr, const char **file, uint32_t *line);

/* Returns the path of file `number` of the unit that `die` is in, interned; NULL: unknown. */
const char *debug_lines_file(struct debug_units *units, Dwarf_Die *die, uint32_t number);

#endif
