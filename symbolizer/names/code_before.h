/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_before.h: the instructions that run before a call, on all ways from the calls before it.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes, a step for each instruction of the function.
 * Threads: one at a time.
 */
#ifndef SHINY_SYM_CODE_BEFORE_H
#define SHINY_SYM_CODE_BEFORE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../src/base/mem.h"
#include "../flow/flow_code.h"

/* The part of one instruction that ways need. */
struct code_step {
	uint64_t vaddr, target; /* target: of a direct jump; 0: none */
	bool call, falls;       /* falls: the next instruction may run after it */
};
struct code_before {
	const struct flow_code *code;
	VEC(struct code_step) steps; /* in order of addresses */
	size_t call;                 /* index of the call's step */
};

/* Reads the code before the call at `call`, which returns to `ret`. False: the start of its
 * function is unknown. Call code_before_deinit() only after true. */
bool code_before_read(const struct flow_code *code, uint64_t call, uint64_t ret,
		      struct code_before *out);
void code_before_deinit(struct code_before *before);

/* True if the straight code before the call sets the register (DWARF's number) to a number.
 * Otherwise `number` is undefined. */
bool code_before_sets(const struct code_before *before, unsigned reg, uint64_t *number);

/* Calls `each` once for each instruction, the nearest first, up to a limit. False: there are
 * none. */
typedef void code_before_fn(void *context, const struct flow_instruction *instruction);
bool code_before_each(const struct code_before *before, code_before_fn *each, void *context);

#endif
