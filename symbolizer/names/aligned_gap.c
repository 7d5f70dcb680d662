/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aligned_gap.c: see aligned_gap.h.
 *
 * An allocator on top of malloc requests the alignment and a word more than its caller requested,
 * rounds the address up by a mask or a division, and stores the block's address for free(): before
 * the aligned address, or after the requested bytes. This searches the straight code after the call
 * for a store of the block's own address into the block, at a rounded offset. SwiftShader has three
 * such functions, by mask and by division.
 */
#include "aligned_gap.h"

#include "../flow/flow_code.h"
#include "../flow/flow_fact.h"
#include "../flow/flow_values.h"

enum {
	STEPS = 64,
	JUMPS = 4,
	SAVED = 1 << FLOW_RBX | 1 << FLOW_RBP | 1 << FLOW_RSP | 0xf000,
};

/* Registers, as bits. */
struct gap_walk {
	unsigned blocks;  /* hold the block's address */
	unsigned derived; /* hold a value computed from it */
	unsigned rounded; /* of `derived`, those rounded by a mask or a division */
};

static unsigned bit_of_name(ZydisRegister name)
{
	unsigned reg = flow_number_of_part(name);

	return reg < FLOW_REGISTERS ? 1u << reg : 0;
}

static unsigned bit_of(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? bit_of_name(operand->reg.value) : 0;
}

/* Returns all registers that the instruction reads, with its hidden operands. */
static unsigned sources_of(const struct flow_instruction *instruction)
{
	unsigned read = 0;

	for (unsigned i = 0; i < instruction->decoded.operand_count; i++) {
		const ZydisDecodedOperand *operand = &instruction->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    instruction->decoded.mnemonic == ZYDIS_MNEMONIC_LEA)
			read |= bit_of_name(operand->mem.base) | bit_of_name(operand->mem.index);
		else if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			read |= bit_of(operand);
	}
	return read;
}

static bool stores_block(const struct gap_walk *walk, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *operands = instruction->operands;

	return instruction->decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
	       operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       flow_register_of(&operands[1]) < FLOW_REGISTERS &&
	       bit_of(&operands[1]) & walk->blocks &&
	       (bit_of_name(operands[0].mem.base) | bit_of_name(operands[0].mem.index)) &
		       walk->rounded;
}

static void step(struct gap_walk *walk, const struct flow_instruction *instruction)
{
	ZydisMnemonic mnemonic = instruction->decoded.mnemonic;
	unsigned read = sources_of(instruction), written = 0, blocks = 0;
	bool derives, rounds;

	for (unsigned i = 0; i < instruction->decoded.operand_count; i++)
		if (instruction->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			written |= bit_of(&instruction->operands[i]);
	if (mnemonic == ZYDIS_MNEMONIC_MOV && read & walk->blocks)
		blocks = written;
	derives = (read & (walk->blocks | walk->derived)) && !blocks;
	rounds = derives && (read & walk->rounded || mnemonic == ZYDIS_MNEMONIC_AND ||
			     mnemonic == ZYDIS_MNEMONIC_DIV);
	walk->blocks = (walk->blocks & ~written) | blocks;
	walk->derived = (walk->derived & ~written) | (derives ? written : 0);
	walk->rounded = (walk->rounded & ~written) | (rounds ? written : 0);
}

bool aligned_gap_follows(const struct flow_code *code, uint64_t ret)
{
	struct gap_walk walk = { .blocks = 1u << FLOW_RAX };
	struct flow_instruction instruction;
	uint64_t at = ret;
	unsigned jumps = 0;

	for (unsigned i = 0; i < STEPS && flow_decode(code, at, &instruction); i++) {
		at = instruction.next;
		switch (instruction.decoded.meta.category) {
		case ZYDIS_CATEGORY_RET:
			return false;
		case ZYDIS_CATEGORY_UNCOND_BR:
			at = flow_branch(&instruction.decoded, instruction.vaddr);
			if (!at || ++jumps > JUMPS)
				return false;
			break;
		case ZYDIS_CATEGORY_COND_BR:
			break;
		case ZYDIS_CATEGORY_CALL:
			walk.blocks &= SAVED;
			walk.derived &= SAVED;
			walk.rounded &= SAVED;
			break;
		default:
			if (stores_block(&walk, &instruction))
				return true;
			step(&walk, &instruction);
			break;
		}
	}
	return false;
}
