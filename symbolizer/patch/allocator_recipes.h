/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_recipes.h: computes the recipes to patch the allocators of a file.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SYM_ALLOCATOR_RECIPES_H
#define SHINY_SYM_ALLOCATOR_RECIPES_H

#include <shiny/wire/allocator.h>

#include "../../src/base/err.h"
#include "../elf/binary.h"
#include "engine_functions.h"

/* Builds the content of the file's cache file, but for its checksum; *out is malloc'ed. `setting`
 * is SHINY_ALLOCATOR. Error: an invalid setting. */
SHINY_MUST_CHECK struct shiny_err *allocator_recipes(const struct binary *file, const char *setting,
						     const struct engine_functions *engines,
						     struct shiny_allocator_file **out);

#endif
