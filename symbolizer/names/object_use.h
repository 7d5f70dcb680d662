/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_use.h: tells whether a block of a fixed size is an object, by what the allocating code
 * writes into it.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_OBJECT_USE_H
#define SHINY_SYM_OBJECT_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "../flow/flow_callee.h"

/* Returns the evidence that the block is an object, a constant text; NULL: uncertain. `ret` is the
 * return address of the call that allocates `bytes`. */
const char *object_use_find(const struct flow_code *code, uint64_t ret, uint64_t bytes);

#endif
