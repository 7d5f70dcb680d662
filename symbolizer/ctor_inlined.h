/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_inlined.h: where functions were inlined, from DWARF.
 *
 * Runs: CLI. Signals: no. Allocates: 24 bytes an inlined function, and what libdw does. Threads: one at a time.
 */
#ifndef SHINY_SYM_CTOR_INLINED_H
#define SHINY_SYM_CTOR_INLINED_H

#include "elf_file.h"

/* `name` was inlined into the function `into`; both mangled. `into` is NULL where it has no name. */
typedef void ctor_inlined_fn(void *context, const char *name, const char *into);

/*
 * Every place in the code of `file` where a C++ function was inlined, from the debug information in `path`, which may be its debug file. False:
 * it can't be told, or not of all units (split ones), or there is too much to look through.
 */
bool ctor_inlined_each(const struct elf_file *file, const char *path, ctor_inlined_fn *each, void *context);

#endif
