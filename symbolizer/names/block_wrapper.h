/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_wrapper.h: functions of a file without symbols that return the block which malloc gave, or
 * posix_memalign stored, for them: they have nothing to say of it, their callers have.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: while it works. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_BLOCK_WRAPPER_H
#define SHINY_SYM_BLOCK_WRAPPER_H

#include "../flow/flow_fact.h"

/* The register (DWARF's number) in which the function at `vaddr` gets the size; FLOW_NONE: it is no
 * such function. */
unsigned block_wrapper_size(const struct flow_code *code, uint64_t vaddr);

#endif
