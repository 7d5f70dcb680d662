/* SPDX-License-Identifier: Apache-2.0 */
/* flow_vector.c: see flow_vector.h. */
#include "flow_vector.h"

static const struct flow_value nothing;

/* The operands of one instruction. */
struct vector_move {
	const struct flow_context *step;
	const ZydisDecodedOperand *to, *from;
	const ZydisDecodedOperand *last; /* the second source of three operands; else `from` */
	unsigned vector; /* number of `to`; FLOW_NONE: it is no xmm register */
};

static void vector_assign(const struct vector_move *move, struct flow_value low,
			  struct flow_value high)
{
	move->step->machine->vectors[move->vector][0] = low;
	move->step->machine->vectors[move->vector][1] = high;
}

/* Returns one half of a vector operand. */
static struct flow_value half_of(const struct flow_context *step,
				 const ZydisDecodedOperand *operand, unsigned half)
{
	unsigned number = flow_xmm_of(operand);
	struct flow_value address;

	if (number != FLOW_NONE)
		return step->machine->vectors[number][half];
	if (!flow_is_memory(operand) || operand->size < 64 * (half + 1))
		return nothing;
	address = flow_moved(flow_address_of(step, operand), (int64_t)half * 8);
	return flow_load_at(step, &address);
}

/* movq: moves one word to or from a vector. */
static bool move_word(const struct vector_move *move)
{
	const struct flow_context *step = move->step;

	if (move->vector != FLOW_NONE) {
		vector_assign(move,
			      flow_xmm_of(move->from) != FLOW_NONE
				      ? half_of(step, move->from, 0)
				      : flow_value_of(step, move->from),
			      nothing);
		return true;
	}
	if (flow_xmm_of(move->from) == FLOW_NONE || move->to->size != 64)
		return false;
	flow_assign(step, move->to, half_of(step, move->from, 0));
	return true;
}

/* movups and its like: moves both words. */
static bool move_both(const struct vector_move *move)
{
	struct flow_value low, high;

	if (move->to->size != 128)
		return false;
	low = half_of(move->step, move->from, 0);
	high = half_of(move->step, move->from, 1);
	if (move->vector != FLOW_NONE) {
		vector_assign(move, low, high);
	} else {
		flow_store_word(move->step, move->to, 0, low);
		flow_store_word(move->step, move->to, 8, high);
	}
	return true;
}

/* movhps: moves the high word. With three operands, the first source gives the low word. */
static bool move_high(const struct vector_move *move)
{
	const struct flow_context *step = move->step;

	if (flow_is_memory(move->to)) {
		flow_store_word(step, move->to, 0, half_of(step, move->from, 1));
	} else if (move->vector != FLOW_NONE) {
		struct flow_value low = move->last == move->from
						? step->machine->vectors[move->vector][0]
						: half_of(step, move->from, 0);

		vector_assign(move, low, half_of(step, move->last, 0));
	}
	return true;
}

/* movlps, movsd: stores the low word. */
static bool move_low(const struct vector_move *move)
{
	if (!flow_is_memory(move->to) || flow_xmm_of(move->from) == FLOW_NONE)
		return false;
	flow_store_word(move->step, move->to, 0, half_of(move->step, move->from, 0));
	return true;
}

/* punpcklqdq, punpckhqdq: combines the same half of two vectors. */
static bool move_unpack(const struct vector_move *move, unsigned half)
{
	const ZydisDecodedOperand *first = move->last == move->from ? move->to : move->from;

	if (move->vector == FLOW_NONE)
		return false;
	vector_assign(move, half_of(move->step, first, half),
		      half_of(move->step, move->last, half));
	return true;
}

/* movddup: duplicates the low word. */
static bool move_twice(const struct vector_move *move)
{
	struct flow_value low;

	if (move->vector == FLOW_NONE)
		return false;
	low = half_of(move->step, move->from, 0);
	vector_assign(move, low, low);
	return true;
}

/* pshufd, if it moves whole words. */
static bool move_shuffled(const struct vector_move *move)
{
	uint64_t order = move->last->imm.value.u;

	if (move->vector == FLOW_NONE || (order != 0xee && order != 0x4e && order != 0x44))
		return false;
	vector_assign(move, half_of(move->step, move->from, order != 0x44),
		      half_of(move->step, move->from, order == 0xee));
	return true;
}

/* pinsrq: replaces one half. */
static bool move_inserted(const struct vector_move *move)
{
	const ZydisDecodedOperand *whole = move->last == move->to + 2 ? move->to : move->from;
	struct flow_value half[2], value;

	if (move->vector == FLOW_NONE)
		return false;
	half[0] = half_of(move->step, whole, 0);
	half[1] = half_of(move->step, whole, 1);
	value = flow_value_of(move->step, move->last - 1);
	half[move->last->imm.value.u & 1] = value;
	vector_assign(move, half[0], half[1]);
	return true;
}

bool flow_vector_step(const struct flow_context *step)
{
	const ZydisDecodedInstruction *decoded = &step->instruction->decoded;
	const ZydisDecodedOperand *to = step->instruction->operands;
	struct vector_move move = { step, to, to + 1, to + 1, flow_xmm_of(to) };

	if (decoded->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		return false; /* its masks are operands too */
	if (decoded->operand_count_visible > 2)
		move.last = to + decoded->operand_count_visible - 1;
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_VMOVQ:
	case ZYDIS_MNEMONIC_MOVD: /* with REX.W */
	case ZYDIS_MNEMONIC_VMOVD: return move_word(&move);
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVDQU:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_MOVNTDQ:
	case ZYDIS_MNEMONIC_MOVNTPS:
	case ZYDIS_MNEMONIC_LDDQU:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVUPD:
	case ZYDIS_MNEMONIC_VMOVAPD:
	case ZYDIS_MNEMONIC_VMOVDQU:
	case ZYDIS_MNEMONIC_VMOVDQA: return move_both(&move);
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
	case ZYDIS_MNEMONIC_VMOVHPS:
	case ZYDIS_MNEMONIC_VMOVHPD: return move_high(&move);
	case ZYDIS_MNEMONIC_MOVLPS:
	case ZYDIS_MNEMONIC_MOVLPD:
	case ZYDIS_MNEMONIC_VMOVLPS:
	case ZYDIS_MNEMONIC_VMOVLPD:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_VMOVSD: return move_low(&move);
	case ZYDIS_MNEMONIC_PUNPCKLQDQ:
	case ZYDIS_MNEMONIC_UNPCKLPD:
	case ZYDIS_MNEMONIC_MOVLHPS:
	case ZYDIS_MNEMONIC_VPUNPCKLQDQ:
	case ZYDIS_MNEMONIC_VUNPCKLPD:
	case ZYDIS_MNEMONIC_VMOVLHPS: return move_unpack(&move, 0);
	case ZYDIS_MNEMONIC_PUNPCKHQDQ:
	case ZYDIS_MNEMONIC_UNPCKHPD:
	case ZYDIS_MNEMONIC_VPUNPCKHQDQ:
	case ZYDIS_MNEMONIC_VUNPCKHPD: return move_unpack(&move, 1);
	case ZYDIS_MNEMONIC_MOVDDUP:
	case ZYDIS_MNEMONIC_VMOVDDUP: return move_twice(&move);
	case ZYDIS_MNEMONIC_PSHUFD:
	case ZYDIS_MNEMONIC_VPSHUFD: return move_shuffled(&move);
	case ZYDIS_MNEMONIC_PINSRQ:
	case ZYDIS_MNEMONIC_VPINSRQ: return move_inserted(&move);
	case ZYDIS_MNEMONIC_PEXTRQ:
	case ZYDIS_MNEMONIC_VPEXTRQ:
		flow_assign(step, to, half_of(step, move.from, move.last->imm.value.u & 1));
		return true;
	default: return false;
	}
}
