/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_wrapper.h: recognizes functions of a file without symbols that only return a block from
 * malloc or posix_memalign: the block's purpose is known to their callers.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: temporarily. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_BLOCK_WRAPPER_H
#define SHINY_SYM_BLOCK_WRAPPER_H

#include "../flow/flow_fact.h"

/* Returns the register (DWARF's number) in which the function at `vaddr` gets the size; FLOW_NONE:
 * it is no such function. */
unsigned block_wrapper_size(const struct flow_code *code, uint64_t vaddr);

#endif
