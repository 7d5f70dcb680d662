/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_index.h: function, file, line and inline chain of an address, from DWARF 4 and 5.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes, bounded: see DWARF_BUDGET in the source. Threads: one at a time.
 */
#ifndef SHINY_SYM_DWARF_INDEX_H
#define SHINY_SYM_DWARF_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"
#include "names.h"
#include "sym.h"

struct dwarf_index;

/* `path` is the file with the DWARF, which may be `file`'s debug file; `file` says which addresses are code. NULL: it has none. */
struct dwarf_index *dwarf_index_create(const char *path, const struct elf_file *file, struct names *names,
				       const char *const *debug_dirs);
void dwarf_index_destroy(struct dwarf_index *index); /* accepts NULL */

/*
 * Frames of `vaddr`, innermost first. Returns their number, at most `room`; a chain that is longer loses its outermost frames. A frame's
 * function is NULL where DWARF has the line and not the name. `*bare`: the outermost one's name has no scopes and no parameters, as for C
 * functions and those that gcc gives no linkage name; a mangled symbol knows better.
 */
size_t dwarf_index_frames(struct dwarf_index *index, uint64_t vaddr, struct sym_frame *out, size_t room, bool *bare);

#endif
