/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_patch.h: finds the constructors and destructors of an executable's classes, and writes the
 * recipes to patch their entries (include/shiny/wire/ctors.h) into the user's cache, where the
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
 * Examines the executable `path` and writes its cache file, unless one of this version, build and
 * setting with a class in it exists; *out, malloc'ed, is the file's content. `setting` is
 * SHINY_CTORS: patterns of class names, separated by commas outside <>; `debug_dirs` as in sym.h.
 * *out is NULL if `path` is no ELF file, or `setting` is empty.
 */
SHINY_MUST_CHECK struct shiny_err *ctors_prepare(const char *path, const char *setting,
						 const char *const *debug_dirs,
						 struct shiny_ctors_file **out);

const struct shiny_ctors_class *ctors_classes(const struct shiny_ctors_file *file);
const char *ctors_names(const struct shiny_ctors_file *file);

#endif
