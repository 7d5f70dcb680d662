/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_use.h: is the size of a block, which the program works out, kept or handed on with the
 * block? Then the block is flat memory of so many bytes or elements, and no object.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_SIZE_USE_H
#define SHINY_SYM_SIZE_USE_H

#include "../flow/flow.h"
#include "code_before.h"

/* Of the call that `before` is about, with the size in `size_register`. `flow` is of its result.
 * The evidence, a constant text; NULL: none. */
const char *size_use_find(const struct code_before *before, uint64_t ret, unsigned size_register,
			  const struct flow *flow);

#endif
