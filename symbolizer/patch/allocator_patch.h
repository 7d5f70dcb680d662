/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_patch.h: finds an allocator inside an executable, and engines' own heaps in any file,
 * by their functions' names, and writes the recipes to patch their entries
 * (include/shiny/wire/allocator.h) into the user's cache, where the library looks for them.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SYM_ALLOCATOR_PATCH_H
#define SHINY_SYM_ALLOCATOR_PATCH_H

#include <stdbool.h>
#include <shiny/wire/allocator.h>

#include "../../src/base/err.h"

struct allocator_found {
	char path[4096];              /* of the cache file; "": none */
	unsigned patches;             /* entries that will be patched; 0: none */
	char why[SHINY_ALLOCATOR_WHY]; /* functions that are left out, and why; "": none */
	bool present;                 /* the executable has an allocator, whether it can be patched
	                               * or not */
	bool cached;                  /* the file existed already */
};

/*
 * Examines the executable `path` and writes its cache file, unless one of this version, build and
 * setting exists. `setting` is SHINY_ALLOCATOR. Errors: an invalid setting; a file that cannot be
 * read or written. A missing build-id is no error: `why` tells it.
 */
SHINY_MUST_CHECK struct shiny_err *allocator_prepare(const char *path, const char *setting,
						     struct allocator_found *out);

#endif
