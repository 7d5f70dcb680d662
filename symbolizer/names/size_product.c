/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_product.c: see size_product.h.
 *
 * This reads the straight code before the call, which no jump enters, backwards for the
 * instructions that computed the size. The last of them, except copies, must be a multiplication: a
 * shift, a scaled address, a product. A later addition is a header's, and then there is no answer.
 *
 * clang replaces the size of new T[n] by the largest number if the product overflows; no other code
 * requests that. If T has a destructor, n is written to the block's first word, and the block is 8
 * bytes larger for it (Itanium C++ ABI, 2.7).
 */
#include "size_product.h"

#include "../flow/flow_values.h"

enum { STEPS = 24, STEPS_AFTER = 6, COOKIE = 8, SHIFT_MAX = 16, UNIT_MAX = 1 << 20 };

static unsigned reg_of(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER
		       ? flow_number_of_part(operand->reg.value)
		       : FLOW_NONE;
}

/* Goes to the step before `*i`. False: that one may not have run, or is a call. */
static bool step_back(const struct code_before *before, size_t *i, struct flow_instruction *out)
{
	const struct code_step *steps = before->steps.at;

	for (size_t k = 0; k < before->steps.count; k++)
		if (steps[k].target == steps[*i].vaddr)
			return false; /* another way leads here */
	return *i && !steps[*i - 1].call && steps[*i - 1].falls &&
	       flow_decode(before->code, steps[--*i].vaddr, out);
}

static bool writes(const struct flow_instruction *instruction, unsigned reg)
{
	const ZydisDecodedOperand *operands = instruction->operands;

	for (unsigned i = 0; i < instruction->decoded.operand_count; i++)
		if (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    reg_of(&operands[i]) == reg)
			return true;
	return false;
}

/* Finds the number that the register has before step `i`. */
static bool number_before(const struct code_before *before, size_t i, unsigned reg, uint64_t *out)
{
	struct flow_instruction instruction;

	for (unsigned n = 0; n < STEPS && step_back(before, &i, &instruction); n++)
		if (writes(&instruction, reg)) {
			*out = instruction.operands[1].imm.value.u;
			return instruction.decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
			       instruction.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
		}
	return false;
}

/* State of the walk backwards. */
struct product_walk {
	const struct code_before *before;
	size_t at;
	unsigned wanted;	     /* the register that holds the size */
	struct size_product product; /* unit 0: not found yet */
};

static bool multiply(struct product_walk *walk, uint64_t factor)
{
	uint64_t *unit = &walk->product.unit;

	*unit = *unit ? *unit * factor : factor;
	return *unit && *unit <= UNIT_MAX;
}

/* Handles mul %reg: rax or the register is a constant. */
static void take_wide(struct product_walk *walk, const struct flow_instruction *instruction)
{
	uint64_t factor;

	walk->product.whole =
		!walk->product.unit &&
		(number_before(walk->before, walk->at, reg_of(instruction->operands), &factor) ||
		 number_before(walk->before, walk->at, FLOW_RAX, &factor));
	multiply(walk, walk->product.whole ? factor : 1);
}

static bool take_lea(struct product_walk *walk, const ZydisDecodedOperandMem *mem)
{
	if (mem->disp.value || mem->index == ZYDIS_REGISTER_NONE)
		return false;
	if (mem->base != ZYDIS_REGISTER_NONE && mem->base != mem->index)
		return false;
	return multiply(walk, (uint64_t)mem->scale + (mem->base != ZYDIS_REGISTER_NONE));
}

/* Handles cmov: one of the two values is the largest number. */
static bool take_choice(struct product_walk *walk, const struct flow_instruction *instruction)
{
	unsigned source = reg_of(&instruction->operands[1]);
	uint64_t number;

	if (source == FLOW_NONE || walk->product.unit)
		return false;
	walk->product.saturated = true;
	if (number_before(walk->before, walk->at, source, &number))
		return number == UINT64_MAX;
	if (!number_before(walk->before, walk->at, walk->wanted, &number) || number != UINT64_MAX)
		return false;
	walk->wanted = source;
	return true;
}

/* Handles the instruction that wrote the size. False: the size is no product. */
static bool take(struct product_walk *walk, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	bool number = operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (instruction->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSXD:
		walk->wanted = reg_of(&operands[1]);
		return walk->wanted != FLOW_NONE;
	case ZYDIS_MNEMONIC_SHL:
		return number && operands[1].imm.value.u <= SHIFT_MAX &&
		       multiply(walk, UINT64_C(1) << operands[1].imm.value.u);
	case ZYDIS_MNEMONIC_LEA:
		return take_lea(walk, &operands[1].mem);
	case ZYDIS_MNEMONIC_MUL:
		take_wide(walk, instruction);
		return walk->wanted == FLOW_RAX;
	case ZYDIS_MNEMONIC_IMUL:
		if (instruction->decoded.operand_count_visible == 1)
			return false;
		return multiply(walk, instruction->decoded.operand_count_visible == 3
					      ? operands[2].imm.value.u
					      : 1);
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_OR:
		number = number && operands[1].imm.value.u == COOKIE && !walk->product.unit &&
			 !walk->product.cookie;
		walk->product.cookie = number;
		return number;
	default:
		return instruction->decoded.meta.category == ZYDIS_CATEGORY_CMOV &&
		       take_choice(walk, instruction);
	}
}

bool size_cookie_follows(const struct flow_code *code, uint64_t ret)
{
	struct flow_instruction instruction;
	bool written = false;

	for (unsigned i = 0; i < STEPS_AFTER && flow_decode(code, ret, &instruction); i++) {
		const ZydisDecodedOperand *operands = instruction.operands;

		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_CALL)
			return false;
		written |= instruction.decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
			   operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			   operands[0].mem.base == ZYDIS_REGISTER_RAX &&
			   operands[0].mem.index == ZYDIS_REGISTER_NONE &&
			   !operands[0].mem.disp.value && reg_of(&operands[1]) != FLOW_NONE &&
			   instruction.decoded.operand_width == 64;
		if (written && instruction.decoded.mnemonic == ZYDIS_MNEMONIC_ADD &&
		    operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		    operands[1].imm.value.u == COOKIE)
			return true;
		if (written && instruction.decoded.mnemonic == ZYDIS_MNEMONIC_LEA &&
		    operands[1].mem.base == ZYDIS_REGISTER_RAX &&
		    operands[1].mem.disp.value == COOKIE)
			return true;
		ret = instruction.next;
	}
	return false;
}

bool size_product_find(const struct code_before *before, unsigned size_register,
		       struct size_product *out)
{
	struct product_walk walk = { .before = before,
				     .at = before->call,
				     .wanted = size_register };
	struct flow_instruction instruction;

	for (unsigned n = 0; n < STEPS && !walk.product.whole; n++) {
		*out = walk.product; /* before a product, only factors count */
		if (!step_back(before, &walk.at, &instruction) ||
		    (writes(&instruction, walk.wanted) && !take(&walk, &instruction)))
			return out->unit != 0;
	}
	*out = walk.product;
	return out->unit != 0;
}
