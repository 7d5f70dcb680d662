/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_use.h: is a block of a fixed size an object, by what the code that allocates it writes
 * into it?
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_OBJECT_USE_H
#define SHINY_SYM_OBJECT_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "../flow/flow_callee.h"

/* `ret`: where the call returns to that allocates `bytes`. The evidence, a constant text; NULL:
 * nothing is certain. */
const char *object_use_find(const struct flow_code *code, uint64_t ret, uint64_t bytes);

#endif
