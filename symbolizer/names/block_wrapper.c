/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_wrapper.c: see block_wrapper.h.
 *
 * The function's first call is of posix_memalign, with a frame word for the block and one of its
 * own arguments as the size; after it, the function loads that word and returns. base::AlignedAlloc
 * has 11 instructions. Or the first call is of malloc, with one of its own arguments, at least 1,
 * as the size; then the block is only returned to the caller: operator new of a library that has
 * its own.
 */
#include "block_wrapper.h"

#include <string.h>

#include "../flow/flow.h"
#include "../flow/flow_values.h"

enum { STEPS = 32 };

struct wrapper_call {
	unsigned origin[FLOW_REGISTERS]; /* the register whose value at the entry this one holds */
	ZydisRegister base;		 /* address of the word for the block */
	int64_t displacement;
	bool word; /* rdi holds that address */
};

/* True for n + (n < 1). */
static bool raises_zero(const struct flow_instruction *instruction)
{
	return instruction->decoded.mnemonic == ZYDIS_MNEMONIC_ADC &&
	       instruction->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	       !instruction->operands[1].imm.value.u;
}

static void note_move(struct wrapper_call *call, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	unsigned target, source;

	if (!instruction->decoded.operand_count_visible ||
	    operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    !(operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	target = flow_number_of_part(operands[0].reg.value);
	if (target >= FLOW_REGISTERS)
		return;
	if (raises_zero(instruction))
		return;
	source = flow_register_of(&operands[1]);
	if (instruction->decoded.meta.category == ZYDIS_CATEGORY_CMOV) { /* the argument, or 1 */
		if (call->origin[target] == FLOW_NONE && source < FLOW_REGISTERS)
			call->origin[target] = call->origin[source];
		return;
	}
	if (instruction->decoded.mnemonic != ZYDIS_MNEMONIC_MOV)
		source = FLOW_NONE;
	call->origin[target] = source < FLOW_REGISTERS ? call->origin[source] : FLOW_NONE;
	if (target != FLOW_RDI)
		return;
	call->word = source >= FLOW_REGISTERS &&
		     instruction->decoded.mnemonic == ZYDIS_MNEMONIC_LEA &&
		     operands[1].mem.index == ZYDIS_REGISTER_NONE;
	if (call->word) {
		call->base = operands[1].mem.base;
		call->displacement = operands[1].mem.disp.value;
	}
	if (source == FLOW_RSP) {
		call->word = true;
		call->base = ZYDIS_REGISTER_RSP;
		call->displacement = 0;
	}
}

static bool loads_word(const struct flow_instruction *instruction, const struct wrapper_call *call)
{
	const ZydisDecodedOperand *operands = instruction->operands;

	return instruction->decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
	       flow_register_of(&operands[0]) == FLOW_RAX &&
	       operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       operands[1].mem.base == call->base && operands[1].mem.index == ZYDIS_REGISTER_NONE &&
	       operands[1].mem.disp.value == call->displacement;
}

static bool returns_word(const struct flow_code *code, uint64_t at, const struct wrapper_call *call)
{
	struct flow_instruction instruction;
	bool loaded = false;

	for (unsigned i = 0; i < STEPS && flow_decode(code, at, &instruction); i++) {
		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_RET)
			return loaded;
		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_CALL)
			return false;
		loaded |= loads_word(&instruction, call);
		at = instruction.next;
	}
	return false;
}

/* True if the block that is in rax at `ret` is returned, and goes nowhere else. */
static bool returns_block(const struct flow_code *code, uint64_t ret)
{
	struct flow flow;
	bool returned = false, kept = false;

	kept = !flow_follow(code, ret, 0, 0, 0, 0, &flow);
	for (size_t i = 0; !kept && i < flow.fact_count; i++) {
		const struct flow_fact *fact = &flow.facts[i];

		returned |= fact->kind == FLOW_RETURN && !fact->offset;
		kept |= fact->kind != FLOW_RETURN || fact->offset;
	}
	kept |= flow.written != INT64_MIN;
	flow_deinit(&flow);
	return returned && !kept;
}

unsigned block_wrapper_size(const struct flow_code *code, uint64_t vaddr)
{
	struct flow_instruction instruction;
	struct wrapper_call call = { .word = false };
	struct flow_callee callee;
	uint64_t target;

	for (unsigned i = 0; i < FLOW_REGISTERS; i++)
		call.origin[i] = i;
	for (unsigned i = 0; vaddr && i < STEPS && flow_decode(code, vaddr, &instruction); i++) {
		vaddr = instruction.next;
		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_RET)
			return FLOW_NONE;
		if (instruction.decoded.meta.category != ZYDIS_CATEGORY_CALL) {
			note_move(&call, &instruction);
			continue;
		}
		if (!flow_address(&instruction, instruction.operands, &target))
			return FLOW_NONE;
		callee = instruction.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY
				 ? flow_callee_in(code, target)
				 : flow_callee_at(code, target);
		if (!callee.symbol)
			return FLOW_NONE;
		if (!strcmp(callee.symbol, "malloc"))
			return returns_block(code, vaddr) ? call.origin[FLOW_RDI] : FLOW_NONE;
		return call.word && strstr(callee.symbol, "posix_memalign") &&
				       returns_word(code, vaddr, &call)
			       ? call.origin[FLOW_RDX]
			       : FLOW_NONE;
	}
	return FLOW_NONE;
}
