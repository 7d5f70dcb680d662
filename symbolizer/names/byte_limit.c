/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_limit.c: see byte_limit.h.
 *
 * The code is mov $(2^63-1)/N*N, %rax; cmp %rcx, %rax; jb. Containers that count elements use the
 * same number as the size of a full one, but compare it for equality.
 */
#include "byte_limit.h"

#include "../flow/flow_fact.h"
#include "../flow/flow_values.h"

enum { ELEMENT_MAX = 4096 };

static bool is_ordered(const struct flow_code *code, uint64_t next)
{
	struct flow_instruction jump;

	if (!flow_decode(code, next, &jump))
		return false;
	switch (jump.decoded.mnemonic) {
	case ZYDIS_MNEMONIC_JB:
	case ZYDIS_MNEMONIC_JNB:
	case ZYDIS_MNEMONIC_JBE:
	case ZYDIS_MNEMONIC_JNBE: return true;
	default: return false;
	}
}

static uint32_t bit_of(const ZydisDecodedOperand *operand)
{
	unsigned reg = flow_register_of(operand);

	return reg < FLOW_REGISTERS ? 1u << reg : 0;
}

void byte_limit_note(struct byte_limit *limit, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *operands = instruction->operands;

	if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_CMP) {
		if (is_ordered(limit->code, instruction->next))
			limit->compared |= bit_of(&operands[0]) | bit_of(&operands[1]);
	} else if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_MOV) {
		limit->checked |= limit->compared & bit_of(&operands[0]) &&
				  operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
				  operands[1].imm.value.s > INT64_MAX - ELEMENT_MAX;
		limit->compared &= ~bit_of(&operands[0]);
	}
}
