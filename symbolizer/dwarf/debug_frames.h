/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_frames.h: finds function, file, line and inline chain of an address, from DWARF 4 and 5.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_DEBUG_FRAMES_H
#define SHINY_SYM_DEBUG_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "debug_units.h"
#include "../sym.h"

/*
 * Finds the frames of `vaddr`, innermost first. Returns their number, at most `room`; a longer
 * chain loses its outermost frames. A frame's function is NULL if DWARF has the line and not the
 * name. `*bare`: the outermost one's name has no scopes and no parameters, as for C functions and
 * functions without a linkage name (gcc); a mangled symbol knows better.
 */
size_t debug_frames(struct debug_units *units, uint64_t vaddr, struct sym_frame *out, size_t room,
		    bool *bare);

#endif
