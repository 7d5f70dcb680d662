/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_code.h: instructions of a file, and what they call.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_FLOW_CODE_H
#define SHINY_SYM_FLOW_CODE_H

#include <Zydis/Zydis.h>

#include "flow.h"

struct flow_instruction {
	uint64_t vaddr, next;
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* False: no executable code of the file is there, or no instruction. */
bool flow_decode(const struct flow_code *code, uint64_t vaddr, struct flow_instruction *out);

/* The target of a direct call or jump, or the address that a rip-relative or absolute operand
 * names. False: neither. */
bool flow_address(const struct flow_instruction *instruction, const ZydisDecodedOperand *operand,
		  uint64_t *out);

/* A call of the code at `vaddr`: a function, or a PLT stub's import. */
struct flow_callee flow_callee_at(const struct flow_code *code, uint64_t vaddr);

/* A call through the word at `slot`: known if the loader alone writes it. */
struct flow_callee flow_callee_in(const struct flow_code *code, uint64_t slot);

/* What a load of the word at `vaddr` gives, if it never changes. WORD_NONE: not known. */
struct word flow_constant(const struct flow_code *code, uint64_t vaddr);

bool flow_never_returns(const struct flow_code *code, const struct flow_callee *callee);

bool flow_is_allocation(const char *symbol);

#endif
