/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_start.h: finds where to start decoding the code before a return address, in a file
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
 * Finds an address before `ret` in the same function: its first instruction, or one after padding
 * inside it. False: none was found. Takes 0.3 us and decodes nothing: the caller must check that
 * the instructions from there meet `ret`.
 */
bool function_start(const struct flow_code *code, uint64_t ret, uint64_t *start);

/*
 * Finds bounds around `vaddr` that contain no other function's code: a part of its function, up to
 * where another one may start: at a multiple of 16 that only jumps reach, or at the target of a
 * call in it. False: none were found.
 */
bool function_part(const struct flow_code *code, uint64_t vaddr, uint64_t *low, uint64_t *high);

#endif
