/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_patch.h: finds an allocator inside an executable by its functions' names, and keeps the
 * recipes to patch their entries (include/shiny/wire/allocator.h) in the user's cache, where the
 * library looks for them.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SYM_ALLOCATOR_PATCH_H
#define SHINY_SYM_ALLOCATOR_PATCH_H

#include <stdbool.h>
#include <shiny/wire/allocator.h>

#include "../../src/base/err.h"

struct allocator_found {
	char path[4096];              /* of the file in the cache; "" none */
	unsigned patches;             /* entries that will be patched; 0: none */
	char why[SHINY_ALLOCATOR_WHY]; /* what is left out, and why; "" nothing */
	bool present;                 /* an allocator that could be patched, or could not, is
	                               * there */
	bool cached;                  /* the file was there already */
};

/*
 * Looks at the executable `path` and makes its file, unless one of this version, build and setting
 * is there. `setting`: SHINY_ALLOCATOR.
 * Errors: a setting that means nothing; a file that cannot be read or written. No build-id is no
 * error: why says so.
 */
SHINY_MUST_CHECK struct shiny_err *allocator_prepare(const char *path, const char *setting,
						     struct allocator_found *out);

#endif
