/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_use.h: tells whether a block's size, which the program computes, is stored or passed on with
 * the block. Then the block is flat memory of so many bytes or elements, and no object.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_SIZE_USE_H
#define SHINY_SYM_SIZE_USE_H

#include "../flow/flow.h"
#include "code_before.h"

/* Examines the call of `before`, whose size is in `size_register`; `flow` follows its result.
 * Returns the evidence, a constant text; NULL: none. */
const char *size_use_find(const struct code_before *before, uint64_t ret, unsigned size_register,
			  const struct flow *flow);

#endif
