/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakpad.h: functions and lines from a Breakpad symbol file, the text form in which Chrome's and
 * Firefox's symbols are published.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 32 bytes a function, and names. Threads: one at a
 * time.
 *
 * The file is hostile and may have a gigabyte. It is mapped; opening it reads each line's first
 * word and notes where functions start; a function's lines are read when an address in it is looked
 * up. Format: docs/symbol_files.md of the Breakpad project; INLINE and INLINE_ORIGIN records as its
 * dump_syms and Mozilla's write them.
 */
#ifndef SHINY_SYM_BREAKPAD_H
#define SHINY_SYM_BREAKPAD_H

#include "../sym.h"
#include "binary.h"
#include "symbol_names.h"

struct breakpad;

/*
 * Finds the symbol file of `file`, which was opened from `path`, in `places` (NULL or
 * NULL-terminated): a place is the symbol file itself, or a directory that holds NAME.sym or
 * NAME/ID/NAME.sym. Symbol files of another build-id don't count, and none does for a file without
 * one. NULL: there is none. `*found` is its path, malloc'ed.
 */
struct breakpad *breakpad_find(const struct binary *file, const char *path,
			       const char *const *places, char **found);
void breakpad_close(struct breakpad *breakpad); /* accepts NULL */

/* Like sym_frames(). */
size_t breakpad_frames(struct breakpad *breakpad, struct names *names, uint64_t vaddr,
		       struct sym_frame *out, size_t room);

#endif
