/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch_recipe.h: computes from a file how to patch a function's entry
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
 * Makes the recipe for the function [vaddr, end) of `file`. `end` 0: unknown; the function is then
 * taken to end at the first ret or jump with padding after it. Returns NULL, or a constant text:
 * why the entry can't be patched.
 */
const char *patch_recipe_make(const struct binary *file, uint64_t vaddr, uint64_t end,
			      struct shiny_patch_recipe *out);

/* Makes the recipe for the call instruction at `vaddr`, a direct one of 5 bytes. Returns NULL, or
 * why not. */
const char *patch_recipe_make_call(const struct binary *file, uint64_t vaddr,
				   struct shiny_patch_recipe *out);

#endif
