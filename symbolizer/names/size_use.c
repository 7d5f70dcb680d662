/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_use.c: see size_use.h.
 *
 * Backwards from the call, on the straight code before it: finds the registers and words of memory
 * that hold the size, or the count that was multiplied to compute it. A constant added to it is a
 * header's: then there is no answer. The larger one of two sizes of which one is doubled is how
 * buffers grow.
 *
 * Forwards from the call: finds a call that gets the block and its size, stores of both beside each
 * other outside the frame (there, anything is beside anything), or the address of the block's end.
 * An allocator's wrapper may pass its callers' objects to a call that fills them with zeroes: so a
 * call is no evidence about a block that is returned.
 */
#include "size_use.h"

#include "../flow/flow_values.h"

enum {
	PLACES = 8,
	STEPS_BEFORE = 40,
	STEPS_AFTER = 64,
	BESIDE = 16, /* most bytes between two words that belong together */
	SAVED = 1 << FLOW_RBX | 1 << FLOW_RBP | 0xf000, /* registers that calls preserve */
	ARGUMENTS = 1 << FLOW_RDI | 1 << FLOW_RSI | 1 << FLOW_RDX | 1 << FLOW_RCX | 1 << 8 | 1 << 9,
	ENTRY_STEPS = 4,
};

/* A word of memory, addressed by a register that no call changes. */
struct size_place {
	unsigned base;
	int64_t displacement;
};
struct size_places {
	struct size_place at[PLACES];
	unsigned count;
};
struct size_trace {
	unsigned wanted;  /* backwards: registers that the size is computed from */
	unsigned written; /* registers written between there and the call */
	unsigned holds;	  /* registers with the size or count: at the call, then after it */
	unsigned frame;	  /* registers that address words of the frame */
	struct size_places sizes, blocks;
	bool chosen, doubled, header;
	bool returned; /* the function may return the block */
};

static unsigned bit_of(const ZydisDecodedOperand *operand)
{
	unsigned reg = operand->type == ZYDIS_OPERAND_TYPE_REGISTER
			       ? flow_number_of_part(operand->reg.value)
			       : FLOW_NONE;

	return reg < FLOW_REGISTERS ? 1u << reg : 0;
}

static unsigned bit_of_name(ZydisRegister name)
{
	unsigned reg = flow_number_of_part(name);

	return reg < FLOW_REGISTERS ? 1u << reg : 0;
}

static unsigned written_by(const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *first = instruction->operands;

	return instruction->decoded.operand_count_visible &&
			       first->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE
		       ? bit_of(first)
		       : 0;
}

/* False: the operand isn't a register and a displacement. */
static bool place_of(const ZydisDecodedOperand *operand, struct size_place *out)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.index != ZYDIS_REGISTER_NONE)
		return false;
	*out = (struct size_place){ flow_number_of_part(operand->mem.base),
				    operand->mem.disp.value };
	return out->base < FLOW_REGISTERS;
}

static void put_place(struct size_places *places, const struct size_place *place)
{
	if (places->count < PLACES)
		places->at[places->count++] = *place;
}

static bool has_place(const struct size_places *places, const struct size_place *place, bool beside)
{
	for (unsigned i = 0; i < places->count; i++) {
		int64_t distance = places->at[i].displacement - place->displacement;

		if (places->at[i].base == place->base &&
		    (beside ? distance && distance >= -BESIDE && distance <= BESIDE : !distance))
			return true;
	}
	return false;
}

/* ---- before the call ---- */

/* Traces a register that gives the size to its sources. */
static void trace_source(struct size_trace *trace, const struct flow_instruction *instruction,
			 unsigned target)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	const ZydisDecodedOperandMem *mem = &operands[1].mem;
	struct size_place place;

	switch (instruction->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		trace->wanted = (trace->wanted & ~target) | bit_of(&operands[1]);
		if (place_of(&operands[1], &place) && !(trace->written >> place.base & 1))
			put_place(&trace->sizes, &place);
		return;
	case ZYDIS_MNEMONIC_LEA:
		trace->wanted &= ~target;
		trace->header |= mem->disp.value != 0;
		trace->doubled |= mem->base == mem->index || mem->scale == 2;
		trace->wanted |= bit_of_name(mem->index) | bit_of_name(mem->base);
		return;
	case ZYDIS_MNEMONIC_IMUL:
		trace->wanted |= bit_of(&operands[1]);
		return;
	case ZYDIS_MNEMONIC_SHL:
		trace->doubled |= operands[1].imm.value.u == 1;
		return;
	case ZYDIS_MNEMONIC_ADD:
		if (bit_of(&operands[1]) == target)
			trace->doubled = true;
		else
			trace->header = true;
		return;
	default:
		break;
	}
	if (instruction->decoded.meta.category == ZYDIS_CATEGORY_CMOV) {
		trace->chosen = true;
		trace->wanted |= bit_of(&operands[1]);
		return;
	}
	trace->wanted &= ~target;
}

static void trace_back(struct size_trace *trace, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	unsigned target = written_by(instruction);
	struct size_place place;

	if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
	    bit_of(&operands[1]) & (trace->wanted | (trace->holds & ~trace->written))) {
		if (target & ~trace->written)
			trace->holds |= target;
		else if (place_of(operands, &place) && !(trace->written >> place.base & 1))
			put_place(&trace->sizes, &place);
	}
	trace->written |= target;
	if (target & trace->wanted)
		trace_source(trace, instruction, target);
	trace->holds |= trace->wanted & ~trace->written;
}

static void trace_size(struct size_trace *trace, const struct code_before *before)
{
	struct flow_instruction instruction;
	size_t i = before->call;

	for (unsigned n = 0; i-- > 0 && n < STEPS_BEFORE && trace->wanted; n++) {
		const struct code_step *step = &before->steps.at[i];

		if (step->call || !step->falls ||
		    !flow_decode(before->code, step->vaddr, &instruction))
			break;
		trace_back(trace, &instruction);
	}
}

/* ---- after the call ---- */

/* Returns the registers that hold the block itself. */
static unsigned blocks_at(const struct flow_state *state)
{
	unsigned held = 0;

	for (unsigned i = 0; i < FLOW_REGISTERS; i++)
		if (state->registers >> i & 1 && !state->offsets[i])
			held |= 1u << i;
	return held;
}

static bool makes_end(const struct flow_instruction *instruction, unsigned blocks, unsigned sizes)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	unsigned a = bit_of(operands), b = bit_of(&operands[1]);

	if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_LEA) {
		a = bit_of_name(operands[1].mem.base);
		b = bit_of_name(operands[1].mem.index);
		if (operands[1].mem.disp.value)
			return false;
	} else if (instruction->decoded.mnemonic != ZYDIS_MNEMONIC_ADD) {
		return false;
	}
	return (a & blocks && b & sizes) || (a & sizes && b & blocks);
}

/* Follows the size through one instruction; returns the evidence, or NULL. */
static const char *step_size(struct size_trace *trace, const struct flow_instruction *instruction,
			     unsigned blocks, bool leaves)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	ZydisInstructionCategory category = instruction->decoded.meta.category;
	unsigned sizes = trace->holds & ~blocks, target = written_by(instruction), source;
	struct size_place place;

	if (category == ZYDIS_CATEGORY_CALL || (category == ZYDIS_CATEGORY_UNCOND_BR && leaves)) {
		if (blocks & ARGUMENTS && sizes & ARGUMENTS && !trace->returned)
			return "a call gets the block and its size";
		trace->holds &= SAVED;
		return NULL;
	}
	if (makes_end(instruction, blocks, sizes))
		return "the address of its end is worked out";
	trace->holds &= ~target;
	if (instruction->decoded.mnemonic != ZYDIS_MNEMONIC_MOV)
		return NULL;
	source = bit_of(&operands[1]);
	if (target) {
		if (source & sizes ||
		    (place_of(&operands[1], &place) && has_place(&trace->sizes, &place, false)))
			trace->holds |= target;
		return NULL;
	}
	if (!place_of(operands, &place))
		return NULL;
	if (source & sizes)
		put_place(&trace->sizes, &place);
	else if (source & blocks)
		put_place(&trace->blocks, &place);
	if (!(trace->frame >> place.base & 1) &&
	    ((source & sizes && has_place(&trace->blocks, &place, true)) ||
	     (source & blocks && has_place(&trace->sizes, &place, true))))
		return "its size is stored beside its address";
	return NULL;
}

/* False: rbp is a register like any other. */
static bool keeps_frame_pointer(const struct code_before *before)
{
	struct flow_instruction instruction;

	for (size_t i = 0; i < ENTRY_STEPS && i < before->steps.count; i++)
		if (flow_decode(before->code, before->steps.at[i].vaddr, &instruction) &&
		    instruction.decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
		    flow_register_of(&instruction.operands[0]) == FLOW_RBP &&
		    flow_register_of(&instruction.operands[1]) == FLOW_RSP)
			return true;
	return false;
}

static bool is_returned(const struct flow *flow)
{
	for (size_t i = 0; i < flow->fact_count; i++)
		if (flow->facts[i].kind == FLOW_RETURN && !flow->facts[i].offset)
			return true;
	return false;
}

const char *size_use_find(const struct code_before *before, uint64_t ret, unsigned size_register,
			  const struct flow *flow)
{
	struct size_trace trace = { .wanted = 1u << size_register,
				    .frame = 1u << FLOW_RSP | (unsigned)keeps_frame_pointer(before)
								      << FLOW_RBP,
				    .returned = is_returned(flow) };
	struct flow_instruction instruction;
	const struct flow_state *state;
	const char *why = NULL;
	uint64_t at = ret;

	trace_size(&trace, before);
	/* the second trace knows the registers that hold copies of the size */
	trace.wanted = 1u << size_register;
	trace.written = 0;
	trace_size(&trace, before);
	trace.holds &= SAVED;
	if (trace.header)
		return NULL;
	if (trace.chosen && trace.doubled)
		return "the size is the larger one of two, one of them doubled";
	for (unsigned n = 0; n < STEPS_AFTER && !why && (state = flow_at(flow, at)) &&
			     flow_decode(before->code, at, &instruction);
	     n++) {
		why = step_size(&trace, &instruction, blocks_at(state), !state->successors[0]);
		at = state->successors[0] ? state->successors[0] : state->successors[1];
	}
	return why;
}
