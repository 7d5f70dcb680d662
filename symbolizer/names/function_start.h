/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_start.h: where to begin decoding the code in front of a return address, in a file
 * without symbols.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_FUNCTION_START_H
#define SHINY_SYM_FUNCTION_START_H

#include <stdbool.h>
#include <stdint.h>

#include "../flow/flow_callee.h"

/*
 * An address in front of `ret` that lies in the same function: its first instruction, or one behind
 * padding inside it. False: none was found. Takes 0.3 us and decodes nothing: whether the
 * instructions from there meet `ret` is for the caller to see.
 */
bool function_start(const struct flow_code *code, uint64_t ret, uint64_t *start);

/*
 * Bounds that no other function's code lies in: a part of the function around `vaddr`, up to where
 * another one may begin: at a multiple of 16 that only jumps reach, or where a call in it goes.
 * False: none were found.
 */
bool function_part(const struct flow_code *code, uint64_t vaddr, uint64_t *low, uint64_t *high);

#endif
