/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_eval.c: see probe_eval.h.
 *
 * The index of a type is computed like this, in any registers, with anything in between, and with
 * the section's start sometimes in a register from far above:
 *
 *     lea gcinfo(%rip),%rcx     CONST
 *     sub %eax,%ecx             DISTANCE: a constant in the section, less something that may
 *                               be the section's start
 *     shr $5,%ecx               PLACE
 *     inc %ecx                  INDEX
 *     movzwl %cx,%edx           INDEX
 *
 * or is loaded: movzwl slot(%rip),%edx. So there are few kinds of values, and little arithmetic
 * that keeps one meaningful.
 */
#include "probe_eval.h"

#include <string.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 };
enum { NO_OTHER = 0xff };

static const uint8_t argument_registers[EVAL_ARGUMENTS] = { RDI, RSI, RDX, RCX, R8, R9 };

int eval_register(ZydisRegister reg)
{
	ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return wide >= ZYDIS_REGISTER_RAX && wide <= ZYDIS_REGISTER_R15
		       ? (int)(wide - ZYDIS_REGISTER_RAX)
		       : -1;
}

static int vector_register(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_XMM0 && reg <= ZYDIS_REGISTER_XMM15
		       ? (int)(reg - ZYDIS_REGISTER_XMM0)
		       : -1;
}

static struct eval_value unknown(uint64_t vaddr)
{
	return (struct eval_value){ .kind = EVAL_UNKNOWN, .at = vaddr, .other = NO_OTHER };
}

static struct eval_value constant(uint64_t value)
{
	return (struct eval_value){ .kind = EVAL_CONST, .at = value, .other = NO_OTHER };
}

void eval_init(struct eval *eval, const struct eval_world *world, bool function)
{
	memset(eval, 0, sizeof(*eval));
	eval->world = world;
	for (unsigned i = 0; i < EVAL_REGISTERS; i++) {
		/* the unknown values at the start must differ from each other */
		eval->reg[i] = unknown(i + 1);
		eval->low[i] = eval->high[i] = unknown(EVAL_REGISTERS + 1 + i);
	}
	for (unsigned i = 0; function && i < EVAL_ARGUMENTS; i++)
		eval->reg[argument_registers[i]] =
			(struct eval_value){ .kind = EVAL_ARGUMENT, .at = i, .other = NO_OTHER };
}

struct eval_value eval_argument(const struct eval *eval, unsigned argument)
{
	return eval->reg[argument_registers[argument]];
}

/* True for unknown values that remain identifiable with a constant added. */
static bool is_pointer(const struct eval_value *value)
{
	return value->kind == EVAL_UNKNOWN || value->kind == EVAL_LOADED ||
	       value->kind == EVAL_MEMBER;
}

struct eval_value eval_address(const struct eval *eval, const struct flow_instruction *in,
			       const ZydisDecodedOperand *operand)
{
	struct eval_value value;
	uint64_t vaddr;
	int base;

	if (operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS)
		return unknown(in->vaddr);
	if (flow_address(in, operand, &vaddr))
		return constant(vaddr);
	base = eval_register(operand->mem.base);
	if (base < 0 || operand->mem.index != ZYDIS_REGISTER_NONE)
		return unknown(in->vaddr);
	value = eval->reg[base];
	if (value.kind == EVAL_CONST)
		value.at += (uint64_t)operand->mem.disp.value;
	else if (is_pointer(&value) ||
		 (value.kind == EVAL_ARGUMENT && !value.shift && value.other == NO_OTHER))
		value.add += operand->mem.disp.value;
	else if (operand->mem.disp.value)
		return unknown(in->vaddr);
	return value;
}

static bool is_index(const struct eval_value *value)
{
	return value->kind == EVAL_DISTANCE || value->kind == EVAL_PLACE ||
	       value->kind == EVAL_INDEX;
}

bool eval_has_index(const struct eval *eval)
{
	for (unsigned i = 0; i < EVAL_REGISTERS; i++)
		if (is_index(&eval->reg[i]))
			return true;
	for (unsigned i = 0; i < EVAL_SLOTS; i++)
		if (is_index(&eval->slots[i].value))
			return true;
	return false;
}

static struct eval_slot *slot_of(const struct eval *eval, const struct eval_value *address)
{
	for (unsigned i = 0; address->kind == EVAL_UNKNOWN && i < EVAL_SLOTS; i++)
		if (is_index(&eval->slots[i].value) && eval->slots[i].base == address->at &&
		    eval->slots[i].add == address->add)
			return (struct eval_slot *)&eval->slots[i];
	return NULL;
}

/* Records a store. A store through other registers than the frame's could change a slot, too, but
 * compilers' spill slots have no other name. */
static void store(struct eval *eval, const struct flow_instruction *in)
{
	struct eval_value address = eval_address(eval, in, &in->operands[0]),
			  value = eval_operand(eval, in, &in->operands[1]);
	struct eval_slot *slot = slot_of(eval, &address);

	if (slot)
		slot->value = value;
	else if (is_index(&value) && address.kind == EVAL_UNKNOWN)
		eval->slots[eval->slot_next++ % EVAL_SLOTS] =
			(struct eval_slot){ address.at, address.add, value };
}

static struct eval_value narrowed(struct eval_value value, unsigned bits)
{
	if (value.kind == EVAL_CONST && bits < 64)
		value.at &= (UINT64_C(1) << bits) - 1;
	return value;
}

struct eval_value eval_operand(const struct eval *eval, const struct flow_instruction *in,
			       const ZydisDecodedOperand *operand)
{
	const struct eval_world *world = eval->world;
	const struct eval_slot *slot;
	struct eval_value address;
	int reg;

	switch (operand->type) {
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		return narrowed(constant(operand->imm.is_signed ? (uint64_t)operand->imm.value.s
								: operand->imm.value.u),
				operand->size);
	case ZYDIS_OPERAND_TYPE_REGISTER:
		reg = eval_register(operand->reg.value);
		return reg >= 0 ? narrowed(eval->reg[reg], operand->size) : unknown(in->vaddr);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		address = eval_address(eval, in, operand);
		if (address.kind == EVAL_CONST && operand->size == 16 &&
		    address.at - world->slots < world->slots_end - world->slots &&
		    address.at % 2 == 0)
			return (struct eval_value){ .kind = EVAL_INDEX,
						    .at = address.at,
						    .other = NO_OTHER };
		slot = slot_of(eval, &address);
		if (slot)
			return slot->value;
		if (operand->size == 64 && address.kind == EVAL_CONST)
			return (struct eval_value){ .kind = EVAL_LOADED,
						    .at = address.at,
						    .other = NO_OTHER };
		if (operand->size == 64 && address.kind == EVAL_LOADED && address.add >= 0 &&
		    address.add < INT32_MAX)
			return (struct eval_value){ .kind = EVAL_FIELD,
						    .at = address.at,
						    .add = address.add,
						    .other = NO_OTHER };
		if (operand->size == 64 && address.kind == EVAL_ARGUMENT && !address.shift &&
		    address.add >= 0 && address.add < INT32_MAX)
			return (struct eval_value){ .kind = EVAL_MEMBER,
						    .other = NO_OTHER,
						    .at = address.at << EVAL_MEMBER_SHIFT |
							  (uint64_t)address.add };
		return unknown(in->vaddr);
	default:
		return unknown(in->vaddr);
	}
}

static void note_use(struct eval *eval, const struct eval_value *value)
{
	if (value->kind != EVAL_ARGUMENT)
		return;
	eval->used |= (uint8_t)(1u << value->at);
	if (value->other != NO_OTHER)
		eval->used |= (uint8_t)(1u << value->other);
}

/* Notes the arguments that the instruction reads. Saving a register, and xor with itself, are no
 * uses. */
static void note_uses(struct eval *eval, const struct flow_instruction *in)
{
	const ZydisDecodedOperand *operand = in->operands;
	ZydisMnemonic mnemonic = in->decoded.mnemonic;

	if (mnemonic == ZYDIS_MNEMONIC_PUSH || mnemonic == ZYDIS_MNEMONIC_NOP ||
	    mnemonic == ZYDIS_MNEMONIC_CALL ||
	    (mnemonic == ZYDIS_MNEMONIC_XOR && operand[0].type == operand[1].type &&
	     operand[0].reg.value == operand[1].reg.value))
		return;
	for (unsigned i = 0; i < in->decoded.operand_count_visible; i++) {
		int base, index;

		if (operand[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operand[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ) {
			base = eval_register(operand[i].reg.value);
			/* a copy isn't a use: a use of the copy is */
			if (base >= 0 && mnemonic != ZYDIS_MNEMONIC_MOV)
				note_use(eval, &eval->reg[base]);
		} else if (operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			base = eval_register(operand[i].mem.base);
			index = eval_register(operand[i].mem.index);
			if (base >= 0)
				note_use(eval, &eval->reg[base]);
			if (index >= 0)
				note_use(eval, &eval->reg[index]);
		}
	}
}

static struct eval_value sum(struct eval_value a, struct eval_value b, uint64_t vaddr)
{
	if (a.kind == EVAL_CONST && b.kind == EVAL_CONST)
		return constant(a.at + b.at);
	if (a.kind == EVAL_CONST) {
		struct eval_value swap = a;

		a = b;
		b = swap;
	}
	if (b.kind != EVAL_CONST)
		return unknown(vaddr);
	if (a.kind == EVAL_PLACE && (b.at == 1 || b.at == UINT32_MAX + UINT64_C(2)))
		a.kind = EVAL_INDEX;
	else if (is_pointer(&a) || (a.kind == EVAL_ARGUMENT && !a.shift && a.other == NO_OTHER))
		a.add += (int64_t)b.at;
	else if (b.at)
		return unknown(vaddr);
	return a;
}

static struct eval_value difference(const struct eval_world *world, struct eval_value a,
				    struct eval_value b, unsigned bits, uint64_t vaddr)
{
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;

	/* the low half of an address suffices: the section is shorter than 4 GiB */
	if (a.kind == EVAL_CONST && world->infos_end > world->infos) {
		uint64_t at = (world->infos & ~mask) | (a.at & mask);

		if (at - world->infos < world->infos_end - world->infos &&
		    (is_pointer(&b) ||
		     (b.kind == EVAL_CONST && (b.at & mask) == (world->infos & mask))))
			return (struct eval_value){ .kind = EVAL_DISTANCE,
						    .at = at,
						    .other = NO_OTHER };
	}
	if (a.kind == EVAL_CONST && b.kind == EVAL_CONST)
		return constant((a.at - b.at) & mask);
	if (b.kind == EVAL_CONST) {
		b.at = (uint64_t)-(int64_t)b.at;
		return sum(a, b, vaddr);
	}
	return unknown(vaddr);
}

static struct eval_value shifted_right(struct eval *eval, struct eval_value a, uint64_t count,
				       uint64_t vaddr)
{
	if (a.kind == EVAL_CONST)
		return constant(count < 64 ? a.at >> count : 0);
	if (a.kind == EVAL_DISTANCE && count > 2 && count < 12) {
		eval->shift = (uint8_t)count;
		a.kind = EVAL_PLACE;
		return a;
	}
	return unknown(vaddr);
}

static struct eval_value shifted_left(struct eval_value a, uint64_t count, uint64_t vaddr)
{
	if (a.kind == EVAL_CONST)
		return constant(count < 64 ? a.at << count : 0);
	if ((a.kind == EVAL_ARGUMENT || a.kind == EVAL_INDEX) && a.shift + count < 64 &&
	    a.other == NO_OTHER) {
		a.shift = (uint8_t)(a.shift + count);
		return a;
	}
	return unknown(vaddr);
}

static struct eval_value joined(struct eval_value a, struct eval_value b, uint64_t vaddr)
{
	if (a.kind == EVAL_CONST && b.kind == EVAL_CONST)
		return constant(a.at | b.at);
	if (b.kind == EVAL_CONST)
		return a.kind == EVAL_ARGUMENT ? a : unknown(vaddr);
	if (a.kind == EVAL_ARGUMENT && b.kind == EVAL_ARGUMENT && a.other == NO_OTHER &&
	    b.other == NO_OTHER) {
		a.other = (uint8_t)b.at;
		a.other_shift = b.shift;
		return a;
	}
	return unknown(vaddr);
}

static void set_register(struct eval *eval, const ZydisDecodedOperand *operand,
			 struct eval_value value)
{
	int reg = operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? eval_register(operand->reg.value)
							       : -1;

	/* writes below 32 bits keep the other bits: unknown. Of the values only indexes are 16 bits
	 * wide */
	if (reg >= 0)
		eval->reg[reg] =
			operand->size >= 32 ? narrowed(value, operand->size) : unknown(value.at);
}

/* Computes the result of an instruction with a known meaning. False: it has none. */
static bool compute(struct eval *eval, const struct flow_instruction *in)
{
	const ZydisDecodedOperand *to = &in->operands[0], *from = &in->operands[1];
	struct eval_value a, b = unknown(in->vaddr), result;

	if (in->decoded.operand_count_visible < 1 || to->type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    eval_register(to->reg.value) < 0)
		return false;
	a = eval_operand(eval, in, to);
	if (in->decoded.operand_count_visible > 1 && in->decoded.mnemonic != ZYDIS_MNEMONIC_LEA)
		b = eval_operand(eval, in, from);
	switch (in->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
		result = b;
		break;
	case ZYDIS_MNEMONIC_MOVSXD:
		result = b.kind == EVAL_CONST ? constant((uint64_t)(int64_t)(int32_t)b.at) : b;
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (from->mem.index != ZYDIS_REGISTER_NONE) {
			/* `lea 0(,%rcx,4),%edx`: gcc's way to shift into another register */
			int index = eval_register(from->mem.index);

			if (from->mem.base != ZYDIS_REGISTER_NONE || from->mem.disp.value ||
			    index < 0 || !from->mem.scale)
				return false;
			result = shifted_left(eval->reg[index],
					      (uint64_t)__builtin_ctz(from->mem.scale), in->vaddr);
			break;
		}
		if (from->mem.base != ZYDIS_REGISTER_NONE && eval_register(from->mem.base) >= 0)
			result = sum(eval->reg[eval_register(from->mem.base)],
				     constant((uint64_t)from->mem.disp.value), in->vaddr);
		else
			result = eval_address(eval, in, from);
		break;
	case ZYDIS_MNEMONIC_ADD:
		result = sum(a, b, in->vaddr);
		/* adding a register to itself */
		if (from->type == ZYDIS_OPERAND_TYPE_REGISTER && from->reg.value == to->reg.value)
			result = shifted_left(a, 1, in->vaddr);
		break;
	case ZYDIS_MNEMONIC_INC: result = sum(a, constant(1), in->vaddr); break;
	case ZYDIS_MNEMONIC_DEC: result = sum(a, constant(UINT64_MAX), in->vaddr); break;
	case ZYDIS_MNEMONIC_SUB: result = difference(eval->world, a, b, to->size, in->vaddr); break;
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
		result = b.kind == EVAL_CONST ? shifted_right(eval, a, b.at, in->vaddr)
					      : unknown(in->vaddr);
		break;
	case ZYDIS_MNEMONIC_SHL:
		result = b.kind == EVAL_CONST ? shifted_left(a, b.at, in->vaddr)
					      : unknown(in->vaddr);
		break;
	case ZYDIS_MNEMONIC_OR: result = joined(a, b, in->vaddr); break;
	case ZYDIS_MNEMONIC_AND:
		/* an argument without its low bits is still that argument */
		result = b.kind == EVAL_CONST && (a.kind == EVAL_ARGUMENT || a.kind == EVAL_INDEX)
				 ? a
			 : a.kind == EVAL_CONST && b.kind == EVAL_CONST ? constant(a.at & b.at)
									: unknown(in->vaddr);
		break;
	case ZYDIS_MNEMONIC_XOR:
		result = from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
					 from->reg.value == to->reg.value
				 ? constant(0)
				 : unknown(in->vaddr);
		break;
	default: return false;
	}
	set_register(eval, to, result);
	return true;
}

/* gcc puts two words of a structure into a vector register and stores them at once. */
static bool compute_vector(struct eval *eval, const struct flow_instruction *in)
{
	const ZydisDecodedOperand *to = &in->operands[0], *from = &in->operands[1];
	int vector =
		in->decoded.operand_count_visible == 2 && to->type == ZYDIS_OPERAND_TYPE_REGISTER
			? vector_register(to->reg.value)
			: -1;
	int source = vector >= 0 && from->type == ZYDIS_OPERAND_TYPE_REGISTER
			     ? vector_register(from->reg.value)
			     : -1;

	if (vector < 0)
		return false;
	switch (in->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_MOVQ:
		eval->low[vector] = source >= 0 ? eval->low[source] : eval_operand(eval, in, from);
		eval->high[vector] = constant(0);
		return true;
	case ZYDIS_MNEMONIC_PUNPCKLQDQ:
		eval->high[vector] = source >= 0 ? eval->low[source] : unknown(in->vaddr);
		return true;
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
		eval->high[vector] = unknown(in->vaddr);
		return true;
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
		eval->low[vector] = eval->high[vector] =
			source == vector ? constant(0) : unknown(in->vaddr);
		return true;
	default:
		eval->low[vector] = eval->high[vector] = unknown(in->vaddr);
		return true;
	}
}

void eval_step(struct eval *eval, const struct flow_instruction *in)
{
	note_uses(eval, in);
	if (in->decoded.meta.category == ZYDIS_CATEGORY_CALL) {
		static const uint8_t clobbered[] = { RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11 };

		for (size_t i = 0; i < sizeof(clobbered); i++)
			eval->reg[clobbered[i]] = unknown(in->vaddr);
		for (unsigned i = 0; i < EVAL_VECTORS; i++)
			eval->low[i] = eval->high[i] = unknown(in->vaddr);
		return;
	}
	if (in->decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
	    in->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY) {
		store(eval, in);
		return;
	}
	if (compute(eval, in) || compute_vector(eval, in))
		return;
	for (unsigned i = 0; i < in->decoded.operand_count; i++) {
		const ZydisDecodedOperand *operand = &in->operands[i];
		int reg = operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
					  operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE
				  ? eval_register(operand->reg.value)
				  : -1;

		if (reg >= 0 && reg != RSP)
			eval->reg[reg] = unknown(in->vaddr);
	}
}
