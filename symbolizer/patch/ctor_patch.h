/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_patch.h: finds the constructors and destructors of an executable's classes, and keeps the
 * recipes to patch their entries (include/shiny/wire/ctors.h) in the user's cache, where the
 * library looks for them.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SYM_CTOR_PATCH_H
#define SHINY_SYM_CTOR_PATCH_H

#include <stdbool.h>
#include <shiny/wire/ctors.h>

#include "../../src/base/err.h"

/*
 * Looks at the executable `path` and makes its file, unless one of this version, build and setting
 * is there; *out, malloc'ed, is what it holds. `setting` is SHINY_CTORS: patterns of class names
 * with commas between them, those within <> excepted; `debug_dirs` as in sym.h. NULL: it is no ELF
 * file, or `setting` is empty.
 */
SHINY_MUST_CHECK struct shiny_err *ctors_prepare(const char *path, const char *setting,
						 const char *const *debug_dirs,
						 struct shiny_ctors_file **out);

const struct shiny_ctors_class *ctors_classes(const struct shiny_ctors_file *file);
const char *ctors_names(const struct shiny_ctors_file *file);

#endif
