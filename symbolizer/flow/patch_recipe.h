/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch_recipe.h: how to patch a function's entry, worked out from its file
 * (include/shiny/wire/patch.h).
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_PATCH_RECIPE_H
#define SHINY_SYM_PATCH_RECIPE_H

#include <stdbool.h>
#include <shiny/wire/patch.h>

#include "../elf/binary.h"

/*
 * The recipe for the function [vaddr, end) of `file`. `end` 0: not known; what follows is taken for
 * the function up to the first ret or jump with padding behind it. NULL: here it is; else why the
 * entry can't be patched, a constant text.
 */
const char *patch_recipe_make(const struct binary *file, uint64_t vaddr, uint64_t end,
			      struct shiny_patch_recipe *out);

/* The recipe for the call instruction at `vaddr`, a direct one of 5 bytes. NULL, or why not. */
const char *patch_recipe_make_call(const struct binary *file, uint64_t vaddr,
				   struct shiny_patch_recipe *out);

#endif
