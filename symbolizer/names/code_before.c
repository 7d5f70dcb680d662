/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_before.c: see code_before.h.
 *
 * The function is decoded once from its start to some way after the call, for compilers put the
 * block of a call after or before the code that leads to it. Ways go back from the call over
 * fall-throughs and direct jumps. They end at other calls, so that they don't include code for
 * another block's size.
 */
#include "code_before.h"

#include <stdlib.h>

#include "../flow/flow_values.h"
#include "function_start.h"

enum { STEPS_MAX = 4096, BEHIND = 2048, VISITS_MAX = 128, INT3 = 0xcc };

static struct code_step step_of(const ZydisDecodedInstruction *instruction, uint64_t vaddr)
{
	ZydisInstructionCategory category = instruction->meta.category;
	struct code_step step = { .vaddr = vaddr };

	step.call = category == ZYDIS_CATEGORY_CALL;
	step.falls = category != ZYDIS_CATEGORY_UNCOND_BR && category != ZYDIS_CATEGORY_RET &&
		     instruction->mnemonic != ZYDIS_MNEMONIC_UD2;
	if (category == ZYDIS_CATEGORY_UNCOND_BR || category == ZYDIS_CATEGORY_COND_BR)
		step.target = flow_branch(instruction, vaddr);
	return step;
}

bool code_before_read(const struct flow_code *code, uint64_t call, uint64_t ret,
		      struct code_before *out)
{
	ZydisDecodedInstruction instruction;
	struct flow_stream stream;
	uint64_t at;
	bool met = false;

	*out = (struct code_before){ .code = code };
	if (!function_start(code, ret, &at) || !flow_stream_open(&stream, code, at))
		return false;
	while (out->steps.count < STEPS_MAX && stream.vaddr < ret + BEHIND) {
		at = stream.vaddr;
		if (!flow_stream_next(&stream, &instruction) ||
		    (at > ret && instruction.mnemonic == ZYDIS_MNEMONIC_INT3))
			break;
		if (at == call) {
			out->call = out->steps.count;
			met = true;
		}
		*vec_push(&out->steps) = step_of(&instruction, at);
	}
	if (!met)
		code_before_deinit(out);
	return met;
}

void code_before_deinit(struct code_before *before)
{
	free(before->steps.at);
}

bool code_before_sets(const struct code_before *before, unsigned reg, uint64_t *number)
{
	struct flow_instruction instruction;

	for (size_t i = before->call; i-- > 0;) {
		const struct code_step *step = &before->steps.at[i];
		const ZydisDecodedOperand *first = instruction.operands;

		if (step->call || !step->falls || step->target ||
		    !flow_decode(before->code, step->vaddr, &instruction))
			return false;
		if (instruction.decoded.operand_count_visible &&
		    first->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (first->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    flow_number_of_part(first->reg.value) == reg) {
			*number = instruction.operands[1].imm.value.u;
			return instruction.decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
			       instruction.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
		}
	}
	return false;
}

/* Queue of the steps to visit, in the order in which they were reached. */
struct visits {
	size_t steps[VISITS_MAX];
	size_t count;
};

static void visit(struct visits *visits, const struct code_before *before, size_t step)
{
	if (before->steps.at[step].call || visits->count == VISITS_MAX)
		return;
	for (size_t i = 0; i < visits->count; i++)
		if (visits->steps[i] == step)
			return;
	visits->steps[visits->count++] = step;
}

static void visit_before(struct visits *visits, const struct code_before *before, size_t step)
{
	uint64_t vaddr = before->steps.at[step].vaddr;

	if (step && before->steps.at[step - 1].falls)
		visit(visits, before, step - 1);
	for (size_t i = 0; i < before->steps.count; i++)
		if (before->steps.at[i].target == vaddr)
			visit(visits, before, i);
}

bool code_before_each(const struct code_before *before, code_before_fn *each, void *context)
{
	struct visits visits = { .count = 0 };
	struct flow_instruction instruction;

	visit_before(&visits, before, before->call);
	for (size_t i = 0; i < visits.count; i++) {
		uint64_t vaddr = before->steps.at[visits.steps[i]].vaddr;

		if (flow_decode(before->code, vaddr, &instruction))
			each(context, &instruction);
		visit_before(&visits, before, visits.steps[i]);
	}
	return visits.count != 0;
}
