/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakpad.h: functions and lines from a Breakpad symbol file, the text form in which Chrome's and
 * Firefox's symbols are published.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 32 bytes a function, and names. Threads: one at a
 * time.
 *
 * The file is hostile and may have a gigabyte. It is mapped; opening it looks at each line's first
 * word and keeps where functions begin; a function's lines are read when an address in it is asked
 * for. Format: docs/symbol_files.md of the Breakpad project; INLINE and INLINE_ORIGIN records as
 * its dump_syms and Mozilla's write them.
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
 * NAME/ID/NAME.sym. One whose build-id is another one is passed by, and so is any for a file that
 * has none. NULL: there is none. `*found`: its path, malloc'ed.
 */
struct breakpad *breakpad_find(const struct binary *file, const char *path,
			       const char *const *places, char **found);
void breakpad_close(struct breakpad *breakpad); /* accepts NULL */

/* As sym_frames(). */
size_t breakpad_frames(struct breakpad *breakpad, struct names *names, uint64_t vaddr,
		       struct sym_frame *out, size_t room);

#endif
