/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_step.c: what one instruction does to the places that hold the pointer.
 *
 * The instructions that compilers copy pointers with have their meaning here: moves, lea, add and sub of constants, push and pop,
 * exchanges, conditional moves, and the vector moves with which gcc writes two words at once. Of every other one Zydis says which
 * registers and what memory it writes, and what is written is forgotten: an instruction that isn't known can lose the pointer, never
 * invent it. Writes to 32 bits of a register clear the rest and so lose it too.
 *
 * Memory is the frame alone. Words of it are named by their distance from rsp or from rbp at the start; it isn't known how far apart
 * those two are, so a word that is written under one name and read under the other isn't found, and a write through an
 * unknown pointer is taken to miss the frame. A call may change the words of the frame behind an address that it is given.
 *
 * Calls keep rbx, rbp, rsp and r12 … r15, by the ABI. Placement operator new returns its second argument and memset and its like their
 * first, by their standards; what other functions return isn't assumed.
 */
#include "flow_step.h"

#include <string.h>

/*
 * How large an object on the frame can be that a call is given the address of, and changes. Single-stepped through clang -O2 compiling a
 * file, 732 blocks, 7,000 words of the frame that were said to hold the pointer: with 8 or 64 bytes 828 of them did not, with 256 all do.
 */
#define GIVEN_BYTES 256

static const struct flow_value nothing;

/* rdi, rsi, rdx, rcx, r8, r9 */
static const uint8_t arguments[FLOW_ARGUMENTS] = { FLOW_RDI, FLOW_RSI, FLOW_RDX, FLOW_RCX, 8, 9 };

struct step {
	const struct flow_code *code;
	struct flow_machine *machine;
	const struct flow_instruction *instruction;
	flow_emit *emit;
	void *context;
};

/* ---- values and places ---- */

static bool same(const struct flow_value *a, const struct flow_value *b)
{
	return a->kind == b->kind && a->number == b->number &&
	       (a->kind != VALUE_IMPORT || a->symbol == b->symbol || !strcmp(a->symbol, b->symbol));
}

static struct flow_value moved(struct flow_value value, int64_t distance)
{
	if (value.kind == VALUE_NONE)
		return nothing;
	value.number = (int64_t)((uint64_t)value.number + (uint64_t)distance);
	return value;
}

void flow_machine_init(struct flow_machine *machine)
{
	memset(machine, 0, sizeof(*machine));
	machine->registers[FLOW_RAX].kind = VALUE_POINTER;
	machine->registers[FLOW_RSP].kind = VALUE_RSP;
	machine->registers[FLOW_RBP].kind = VALUE_RBP;
}

bool flow_machine_holds(const struct flow_machine *machine)
{
	for (unsigned i = 0; i < FLOW_REGISTERS; i++)
		if (machine->registers[i].kind == VALUE_POINTER)
			return true;
	for (unsigned i = 0; i < FLOW_VECTORS; i++)
		if (machine->vectors[i][0].kind == VALUE_POINTER || machine->vectors[i][1].kind == VALUE_POINTER)
			return true;
	for (unsigned i = 0; i < machine->place_count; i++)
		if (machine->places[i].value.kind == VALUE_POINTER)
			return true;
	return false;
}

static struct flow_place *place_at(const struct flow_machine *machine, enum value_kind base, int64_t displacement)
{
	for (unsigned i = 0; i < machine->place_count; i++)
		if (machine->places[i].base == base && machine->places[i].displacement == displacement)
			return (struct flow_place *)&machine->places[i];
	return NULL;
}

static bool meet_value(struct flow_value *value, const struct flow_value *other)
{
	if (value->kind == VALUE_NONE || same(value, other))
		return false;
	*value = nothing;
	return true;
}

bool flow_machine_meet(struct flow_machine *machine, const struct flow_machine *other)
{
	bool lost = machine->tested && !other->tested;

	machine->tested = machine->tested && other->tested;
	for (unsigned i = 0; i < FLOW_REGISTERS; i++)
		lost |= meet_value(&machine->registers[i], &other->registers[i]);
	for (unsigned i = 0; i < FLOW_VECTORS; i++)
		for (unsigned half = 0; half < 2; half++)
			lost |= meet_value(&machine->vectors[i][half], &other->vectors[i][half]);
	for (unsigned i = 0; i < machine->place_count;) {
		struct flow_place *place = &machine->places[i];
		const struct flow_place *theirs = place_at(other, place->base, place->displacement);

		if (theirs && same(&place->value, &theirs->value)) {
			i++;
		} else {
			*place = machine->places[--machine->place_count];
			lost = true;
		}
	}
	return lost;
}

/* Forgets the words of the frame that overlap these bytes. */
static void places_forget(struct flow_machine *machine, enum value_kind base, int64_t displacement, uint64_t bytes)
{
	for (unsigned i = 0; i < machine->place_count;) {
		uint64_t behind = (uint64_t)machine->places[i].displacement - (uint64_t)displacement;

		if (machine->places[i].base == base && (behind < bytes || behind + 7 < 7))
			machine->places[i] = machine->places[--machine->place_count];
		else
			i++;
	}
}

static void places_put(struct flow_machine *machine, enum value_kind base, int64_t displacement, const struct flow_value *value)
{
	unsigned at = machine->place_count;

	places_forget(machine, base, displacement, 8);
	if (value->kind == VALUE_NONE)
		return;
	at = machine->place_count;
	if (at == FLOW_PLACES) { /* full: the pointer is worth more than the rest */
		for (at = 0; at < FLOW_PLACES && machine->places[at].value.kind == VALUE_POINTER; at++)
			;
		if (at == FLOW_PLACES || value->kind != VALUE_POINTER)
			return;
	} else {
		machine->place_count++;
	}
	machine->places[at] = (struct flow_place){ base, displacement, *value };
}

/* ---- operands ---- */

/* The number DWARF gives a 64-bit register; FLOW_NONE: it is none. */
static unsigned number_of(ZydisRegister name)
{
	/* rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi in x86's order */
	static const uint8_t numbers[8] = { FLOW_RAX, FLOW_RCX, FLOW_RDX, FLOW_RBX, FLOW_RSP, FLOW_RBP, FLOW_RSI, FLOW_RDI };

	if (name < ZYDIS_REGISTER_RAX || name > ZYDIS_REGISTER_R15)
		return FLOW_NONE;
	return name - ZYDIS_REGISTER_RAX < 8 ? numbers[name - ZYDIS_REGISTER_RAX] : (unsigned)(name - ZYDIS_REGISTER_RAX);
}

static unsigned vector_of(ZydisRegister name)
{
	return name >= ZYDIS_REGISTER_XMM0 && name <= ZYDIS_REGISTER_XMM15 ? (unsigned)(name - ZYDIS_REGISTER_XMM0) : FLOW_NONE;
}

static unsigned register_of(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(operand->reg.value) : FLOW_NONE;
}

static unsigned xmm_of(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? vector_of(operand->reg.value) : FLOW_NONE;
}

static bool is_memory(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

/* A number that can only be an address: in a file that can't be moved. */
static struct flow_value number_value(const struct step *step, uint64_t number)
{
	if (step->code->file->type != ET_EXEC || !elf_file_flags(step->code->file, number))
		return nothing;
	return (struct flow_value){ VALUE_CONSTANT, (int64_t)number, NULL };
}

static struct flow_value address_of(const struct step *step, const ZydisDecodedOperand *operand)
{
	const ZydisDecodedOperandMem *memory = &operand->mem;
	int64_t displacement = memory->disp.has_displacement ? memory->disp.value : 0;
	ZydisRegister base = memory->base;
	uint64_t absolute;

	if (memory->segment == ZYDIS_REGISTER_FS || memory->segment == ZYDIS_REGISTER_GS)
		return nothing;
	if (memory->index != ZYDIS_REGISTER_NONE) {
		if (base != ZYDIS_REGISTER_NONE || memory->scale != 1)
			return nothing;
		base = memory->index;
	}
	if (base == ZYDIS_REGISTER_NONE)
		return number_value(step, (uint64_t)displacement);
	if (base == ZYDIS_REGISTER_RIP)
		return flow_address(step->instruction, operand, &absolute) ?
			       (struct flow_value){ VALUE_CONSTANT, (int64_t)absolute, NULL } : nothing;

	unsigned number = number_of(base);

	return number == FLOW_NONE ? nothing : moved(step->machine->registers[number], displacement);
}

static struct flow_value load_at(const struct step *step, const struct flow_value *address)
{
	const struct flow_place *place;
	struct word word;

	switch (address->kind) {
	case VALUE_RSP:
	case VALUE_RBP:
		place = place_at(step->machine, address->kind, address->number);
		return place ? place->value : nothing;
	case VALUE_CONSTANT:
		word = flow_constant(step->code, (uint64_t)address->number);
		if (word.kind == WORD_ADDRESS)
			return (struct flow_value){ VALUE_CONSTANT, (int64_t)word.value, NULL };
		if (word.kind == WORD_IMPORT && word.symbol)
			return (struct flow_value){ VALUE_IMPORT, (int64_t)word.value, word.symbol };
		return word.kind == WORD_PLAIN ? number_value(step, word.value) : nothing;
	default: return nothing;
	}
}

static struct flow_fact fact_of(const struct step *step, enum flow_kind kind)
{
	return (struct flow_fact){ .kind = kind, .vaddr = step->instruction->vaddr, .next = step->instruction->next,
				   .base = FLOW_NONE };
}

static void emit_store(const struct step *step, const ZydisDecodedOperand *operand, const struct flow_value *address, int64_t into,
		       const struct flow_value *value)
{
	const ZydisDecodedOperandMem *memory = &operand->mem;
	struct flow_fact fact = fact_of(step, FLOW_STORE);

	fact.offset = value->number;
	fact.displacement = (memory->disp.has_displacement ? memory->disp.value : 0) + into;
	if (address->kind == VALUE_CONSTANT) {
		fact.value = (uint64_t)address->number;
		fact.displacement = 0;
	} else if (address->kind == VALUE_IMPORT) {
		fact.callee.symbol = address->symbol;
		fact.displacement = address->number;
	} else if (memory->segment == ZYDIS_REGISTER_FS || memory->segment == ZYDIS_REGISTER_GS) {
		return; /* of a thread: at no address that a rule could look up */
	} else {
		fact.base = number_of(memory->base);
		if (memory->index != ZYDIS_REGISTER_NONE)
			fact.scale = memory->scale;
		if (memory->base == ZYDIS_REGISTER_NONE && memory->index != ZYDIS_REGISTER_NONE && memory->scale == 1) {
			fact.base = number_of(memory->index);
			fact.scale = 0;
		}
		if (fact.base == FLOW_NONE) { /* table(,%rax,8) */
			fact.value = (uint64_t)fact.displacement;
			fact.displacement = 0;
			if (!elf_file_flags(step->code->file, fact.value))
				return;
		}
	}
	step->emit(step->context, &fact);
}

/* Writes one word to the operand's address + `into`. */
static void store_word(const struct step *step, const ZydisDecodedOperand *operand, int64_t into, struct flow_value value)
{
	struct flow_value address = moved(address_of(step, operand), into);

	if (address.kind == VALUE_RSP || address.kind == VALUE_RBP)
		places_put(step->machine, address.kind, address.number, &value);
	if (value.kind == VALUE_POINTER)
		emit_store(step, operand, &address, into, &value);
	if (address.kind == VALUE_POINTER && (value.kind == VALUE_CONSTANT || value.kind == VALUE_IMPORT)) {
		struct flow_fact fact = fact_of(step, FLOW_VTABLE);

		fact.offset = address.number;
		if (value.kind == VALUE_CONSTANT) {
			fact.value = (uint64_t)value.number;
		} else {
			fact.callee.symbol = value.symbol;
			fact.displacement = value.number;
		}
		step->emit(step->context, &fact);
	}
}

static void forget_memory(const struct step *step, const ZydisDecodedOperand *operand)
{
	struct flow_value address = address_of(step, operand);

	if (address.kind == VALUE_RSP || address.kind == VALUE_RBP)
		places_forget(step->machine, address.kind, address.number, operand->size / 8);
}

static void forget_register(struct flow_machine *machine, ZydisRegister name)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
	unsigned number = number_of(whole);

	if (number != FLOW_NONE)
		machine->registers[number] = nothing;
	else if (whole >= ZYDIS_REGISTER_ZMM0 && whole <= ZYDIS_REGISTER_ZMM15)
		memset(machine->vectors[whole - ZYDIS_REGISTER_ZMM0], 0, sizeof(machine->vectors[0]));
}

/* A 64-bit operand's value. */
static struct flow_value value_of(const struct step *step, const ZydisDecodedOperand *operand)
{
	unsigned number = register_of(operand);
	struct flow_value address;

	if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return number_value(step, operand->imm.value.u);
	if (number != FLOW_NONE)
		return step->machine->registers[number];
	if (!is_memory(operand) || operand->size != 64)
		return nothing;
	address = address_of(step, operand);
	return load_at(step, &address);
}

/* Writes an operand of any size: what isn't 64 bits is forgotten. */
static void assign(const struct step *step, const ZydisDecodedOperand *operand, struct flow_value value)
{
	unsigned number = register_of(operand);

	if (number != FLOW_NONE)
		step->machine->registers[number] = value;
	else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
		forget_register(step->machine, operand->reg.value);
	else if (is_memory(operand) && operand->size == 64)
		store_word(step, operand, 0, value);
	else if (is_memory(operand))
		forget_memory(step, operand);
}

/* ---- instructions ---- */

static void push(const struct step *step, struct flow_value value)
{
	struct flow_value *rsp = &step->machine->registers[FLOW_RSP];

	*rsp = step->instruction->decoded.operand_width == 64 ? moved(*rsp, -8) : nothing;
	if (rsp->kind == VALUE_RSP || rsp->kind == VALUE_RBP)
		places_put(step->machine, rsp->kind, rsp->number, &value);
}

static struct flow_value pop(const struct step *step)
{
	struct flow_value *rsp = &step->machine->registers[FLOW_RSP], value = load_at(step, rsp);

	if (step->instruction->decoded.operand_width != 64) {
		*rsp = nothing;
		return nothing;
	}
	*rsp = moved(*rsp, 8);
	return value;
}

static void vector_assign(const struct step *step, unsigned number, struct flow_value low, struct flow_value high)
{
	step->machine->vectors[number][0] = low;
	step->machine->vectors[number][1] = high;
}

static struct flow_value load_half(const struct step *step, const ZydisDecodedOperand *operand, int64_t into)
{
	struct flow_value address = moved(address_of(step, operand), into);

	return load_at(step, &address);
}

/* One half of a vector operand. */
static struct flow_value half_of(const struct step *step, const ZydisDecodedOperand *operand, unsigned half)
{
	unsigned number = xmm_of(operand);

	if (number != FLOW_NONE)
		return step->machine->vectors[number][half];
	return is_memory(operand) && operand->size >= 64 * (half + 1) ? load_half(step, operand, half * 8) : nothing;
}

/* The moves of vectors. False: not one of them. */
static bool step_vector(const struct step *step)
{
	const ZydisDecodedOperand *to = step->instruction->operands, *from = to + 1, *last = from;
	struct flow_value low, high;
	unsigned vector = xmm_of(to);

	if (step->instruction->decoded.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		return false; /* its masks are operands too */
	/* of three operands (vpunpcklqdq), the first source gives the low half */
	if (step->instruction->decoded.operand_count_visible > 2)
		last = to + step->instruction->decoded.operand_count_visible - 1;
	switch (step->instruction->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_VMOVQ:
	case ZYDIS_MNEMONIC_MOVD: /* with REX.W */
	case ZYDIS_MNEMONIC_VMOVD:
		if (vector != FLOW_NONE) {
			low = xmm_of(from) != FLOW_NONE ? half_of(step, from, 0) : value_of(step, from);
			vector_assign(step, vector, low, nothing);
			return true;
		}
		if (xmm_of(from) == FLOW_NONE || to->size != 64)
			return false;
		assign(step, to, half_of(step, from, 0));
		return true;
	case ZYDIS_MNEMONIC_MOVUPS: case ZYDIS_MNEMONIC_MOVAPS: case ZYDIS_MNEMONIC_MOVUPD: case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVDQU: case ZYDIS_MNEMONIC_MOVDQA: case ZYDIS_MNEMONIC_MOVNTDQ: case ZYDIS_MNEMONIC_MOVNTPS:
	case ZYDIS_MNEMONIC_LDDQU:
	case ZYDIS_MNEMONIC_VMOVUPS: case ZYDIS_MNEMONIC_VMOVAPS: case ZYDIS_MNEMONIC_VMOVUPD: case ZYDIS_MNEMONIC_VMOVAPD:
	case ZYDIS_MNEMONIC_VMOVDQU: case ZYDIS_MNEMONIC_VMOVDQA:
		if (to->size != 128)
			return false;
		low = half_of(step, from, 0);
		high = half_of(step, from, 1);
		if (vector != FLOW_NONE) {
			vector_assign(step, vector, low, high);
		} else {
			store_word(step, to, 0, low);
			store_word(step, to, 8, high);
		}
		return true;
	case ZYDIS_MNEMONIC_MOVHPS: case ZYDIS_MNEMONIC_MOVHPD: case ZYDIS_MNEMONIC_VMOVHPS: case ZYDIS_MNEMONIC_VMOVHPD:
		if (is_memory(to)) {
			store_word(step, to, 0, half_of(step, from, 1));
			return true;
		}
		low = last == from ? step->machine->vectors[vector & 15][0] : half_of(step, from, 0);
		if (vector != FLOW_NONE)
			vector_assign(step, vector, low, half_of(step, last, 0));
		return true;
	case ZYDIS_MNEMONIC_MOVLPS: case ZYDIS_MNEMONIC_MOVLPD: case ZYDIS_MNEMONIC_VMOVLPS: case ZYDIS_MNEMONIC_VMOVLPD:
	case ZYDIS_MNEMONIC_MOVSD: case ZYDIS_MNEMONIC_VMOVSD:
		if (is_memory(to) && xmm_of(from) != FLOW_NONE) {
			store_word(step, to, 0, half_of(step, from, 0));
			return true;
		}
		return false;
	case ZYDIS_MNEMONIC_PUNPCKLQDQ: case ZYDIS_MNEMONIC_UNPCKLPD: case ZYDIS_MNEMONIC_MOVLHPS:
	case ZYDIS_MNEMONIC_VPUNPCKLQDQ: case ZYDIS_MNEMONIC_VUNPCKLPD: case ZYDIS_MNEMONIC_VMOVLHPS:
		if (vector == FLOW_NONE)
			return false;
		low = last == from ? half_of(step, to, 0) : half_of(step, from, 0);
		vector_assign(step, vector, low, half_of(step, last, 0));
		return true;
	case ZYDIS_MNEMONIC_PUNPCKHQDQ: case ZYDIS_MNEMONIC_UNPCKHPD: case ZYDIS_MNEMONIC_VPUNPCKHQDQ: case ZYDIS_MNEMONIC_VUNPCKHPD:
		if (vector == FLOW_NONE)
			return false;
		low = last == from ? half_of(step, to, 1) : half_of(step, from, 1);
		vector_assign(step, vector, low, half_of(step, last, 1));
		return true;
	case ZYDIS_MNEMONIC_MOVDDUP: case ZYDIS_MNEMONIC_VMOVDDUP:
		if (vector == FLOW_NONE)
			return false;
		low = half_of(step, from, 0);
		vector_assign(step, vector, low, low);
		return true;
	case ZYDIS_MNEMONIC_PSHUFD: case ZYDIS_MNEMONIC_VPSHUFD:
		if (vector == FLOW_NONE || (last->imm.value.u != 0xee && last->imm.value.u != 0x4e && last->imm.value.u != 0x44))
			return false;
		low = half_of(step, from, last->imm.value.u != 0x44);
		vector_assign(step, vector, low, half_of(step, from, last->imm.value.u == 0xee));
		return true;
	case ZYDIS_MNEMONIC_PINSRQ: case ZYDIS_MNEMONIC_VPINSRQ:
		if (vector == FLOW_NONE)
			return false;
		low = half_of(step, last == to + 2 ? to : from, 0);
		high = half_of(step, last == to + 2 ? to : from, 1);
		if (last->imm.value.u & 1)
			high = value_of(step, last - 1);
		else
			low = value_of(step, last - 1);
		vector_assign(step, vector, low, high);
		return true;
	case ZYDIS_MNEMONIC_PEXTRQ: case ZYDIS_MNEMONIC_VPEXTRQ:
		assign(step, to, half_of(step, from, last->imm.value.u & 1));
		return true;
	default: return false;
	}
}

/* Does a conditional move, its flags known to be a null check of the pointer, happen? -1: not known. */
static int condition(const struct step *step, bool zero, bool not_zero)
{
	if (!step->machine->tested || !(zero || not_zero))
		return -1;
	return not_zero; /* the pointer isn't null on any path that we follow */
}

static bool step_cmov(const struct step *step)
{
	ZydisMnemonic mnemonic = step->instruction->decoded.mnemonic;
	const ZydisDecodedOperand *to = step->instruction->operands;
	struct flow_value old, new;

	if (step->instruction->decoded.meta.category != ZYDIS_CATEGORY_CMOV || register_of(to) == FLOW_NONE)
		return false;
	old = value_of(step, to);
	new = value_of(step, to + 1);
	switch (condition(step, mnemonic == ZYDIS_MNEMONIC_CMOVZ, mnemonic == ZYDIS_MNEMONIC_CMOVNZ)) {
	case 0: break;
	case 1: assign(step, to, new); break;
	default: assign(step, to, same(&old, &new) ? old : nothing); break;
	}
	return true;
}

/* False: not an instruction with a meaning of its own here. */
static bool step_general(const struct step *step)
{
	const ZydisDecodedInstruction *decoded = &step->instruction->decoded;
	const ZydisDecodedOperand *to = step->instruction->operands, *from = to + 1;
	struct flow_value *registers = step->machine->registers, value;
	int64_t distance;

	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->size == 32) {
			/* writes the whole register */
			unsigned whole = number_of(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, to->reg.value));

			if (whole != FLOW_NONE)
				registers[whole] = number_value(step, from->imm.value.u & UINT32_MAX);
			return true;
		}
		assign(step, to, to->size == 64 ? value_of(step, from) : nothing);
		return true;
	case ZYDIS_MNEMONIC_LEA:
		assign(step, to, to->size == 64 ? address_of(step, from) : nothing);
		return true;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (from->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || register_of(to) == FLOW_NONE)
			return false;
		distance = from->imm.value.s;
		assign(step, to, moved(value_of(step, to), decoded->mnemonic == ZYDIS_MNEMONIC_ADD ? distance : -distance));
		return true;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		if (register_of(to) == FLOW_NONE)
			return false;
		assign(step, to, moved(value_of(step, to), decoded->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1));
		return true;
	case ZYDIS_MNEMONIC_PUSH:
		push(step, to->size == 64 ? value_of(step, to) : nothing);
		return true;
	case ZYDIS_MNEMONIC_POP:
		value = pop(step);
		assign(step, to, value);
		return true;
	case ZYDIS_MNEMONIC_LEAVE:
		registers[FLOW_RSP] = registers[FLOW_RBP];
		value = pop(step);
		registers[FLOW_RBP] = value;
		return true;
	case ZYDIS_MNEMONIC_XCHG:
		if (to->size != 64)
			return false;
		value = value_of(step, to);
		assign(step, to, value_of(step, from));
		assign(step, from, value);
		return true;
	case ZYDIS_MNEMONIC_CMPXCHG: /* stores, or does not; rax gets what was there */
		if (to->size != 64)
			return false;
		value = value_of(step, from);
		if (is_memory(to)) {
			struct flow_value address = address_of(step, to);

			if (value.kind == VALUE_POINTER)
				emit_store(step, to, &address, 0, &value);
			forget_memory(step, to);
		} else {
			assign(step, to, nothing);
		}
		registers[FLOW_RAX] = nothing;
		return true;
	default: return step_cmov(step) || step_vector(step);
	}
}

static void step_forget(const struct step *step)
{
	for (unsigned i = 0; i < step->instruction->decoded.operand_count; i++) {
		const ZydisDecodedOperand *operand = &step->instruction->operands[i];

		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
			forget_register(step->machine, operand->reg.value);
		else if (is_memory(operand))
			forget_memory(step, operand);
	}
}

static void step_flags(const struct step *step)
{
	const ZydisDecodedInstruction *decoded = &step->instruction->decoded;
	const ZydisDecodedOperand *first = step->instruction->operands, *second = first + 1;
	const ZydisAccessedFlags *flags = decoded->cpu_flags;

	if (!flags || !((flags->modified | flags->set_0 | flags->set_1 | flags->undefined) & ZYDIS_CPUFLAG_ZF))
		return;
	step->machine->tested = false;
	if (first->size != 64)
		return;
	if (decoded->mnemonic == ZYDIS_MNEMONIC_TEST)
		step->machine->tested = register_of(first) != FLOW_NONE && register_of(first) == register_of(second) &&
					value_of(step, first).kind == VALUE_POINTER;
	else if (decoded->mnemonic == ZYDIS_MNEMONIC_CMP)
		step->machine->tested = second->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !second->imm.value.u &&
					value_of(step, first).kind == VALUE_POINTER;
}

/* ---- calls and jumps ---- */

static void emit_arguments(const struct step *step, enum flow_kind kind, const struct flow_callee *callee)
{
	for (unsigned i = 0; i < FLOW_ARGUMENTS; i++) {
		const struct flow_value *value = &step->machine->registers[arguments[i]];
		struct flow_fact fact = fact_of(step, kind);

		if (value->kind != VALUE_POINTER)
			continue;
		fact.argument = i;
		fact.offset = value->number;
		fact.callee = *callee;
		step->emit(step->context, &fact);
	}
}

static bool one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; name && i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}
#define ONE_OF(name, names) one_of(name, names, sizeof(names) / sizeof(*(names)))

/* Frees its first argument: nothing that comes after it says anything of the block. */
static bool frees(const char *name)
{
	static const char *const names[] = { "free", "cfree", "realloc", "reallocarray" };

	return name && (ONE_OF(name, names) || !strncmp(name, "_ZdlPv", 6) || !strncmp(name, "_ZdaPv", 6)) &&
	       strcmp(name, "_ZdlPvS_") && strcmp(name, "_ZdaPvS_"); /* placement delete does nothing */
}

static void step_call(const struct step *step, const struct flow_callee *callee)
{
	static const char *const returns_first[] = { "memset", "memcpy", "memmove", "strcpy", "strncpy", "strcat", "strncat",
						     "__memset_chk", "__memcpy_chk", "__memmove_chk", "__strcpy_chk", "__strncpy_chk" };
	static const char *const returns_second[] = { "_ZnwmPv", "_ZnamPv" };
	struct flow_machine *machine = step->machine;
	struct flow_value result = nothing;
	bool freed = frees(callee->symbol) && machine->registers[FLOW_RDI].kind == VALUE_POINTER;

	if (ONE_OF(callee->symbol, returns_first))
		result = machine->registers[FLOW_RDI];
	else if (ONE_OF(callee->symbol, returns_second))
		result = machine->registers[FLOW_RSI];
	for (unsigned i = 0; i < FLOW_ARGUMENTS; i++) {
		const struct flow_value *value = &machine->registers[arguments[i]];

		if (value->kind == VALUE_RSP || value->kind == VALUE_RBP)
			places_forget(machine, value->kind, value->number, GIVEN_BYTES);
		machine->registers[arguments[i]] = nothing;
	}
	machine->registers[10] = machine->registers[11] = nothing;
	memset(machine->vectors, 0, sizeof(machine->vectors));
	machine->registers[FLOW_RAX] = result;
	machine->tested = false;
	if (!freed)
		return;
	for (unsigned i = 0; i < FLOW_REGISTERS; i++)
		if (machine->registers[i].kind == VALUE_POINTER)
			machine->registers[i] = nothing;
	for (unsigned i = 0; i < machine->place_count;)
		if (machine->places[i].value.kind == VALUE_POINTER)
			machine->places[i] = machine->places[--machine->place_count];
		else
			i++;
}

static struct flow_callee target_of(const struct step *step, bool *direct, uint64_t *target)
{
	const ZydisDecodedOperand *operand = step->instruction->operands;
	struct flow_value value = nothing;

	*direct = operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	if (flow_address(step->instruction, operand, target))
		return *direct ? flow_callee_at(step->code, *target) : flow_callee_in(step->code, *target);
	if (register_of(operand) != FLOW_NONE)
		value = value_of(step, operand); /* the slot was loaded before */
	if (value.kind == VALUE_IMPORT && !value.number)
		return (struct flow_callee){ 0, value.symbol };
	if (value.kind == VALUE_CONSTANT && (elf_file_flags(step->code->file, (uint64_t)value.number) & PF_X))
		return flow_callee_at(step->code, (uint64_t)value.number);
	return (struct flow_callee){ 0, NULL };
}

/* Is `target` a part of the function? A jump there is no tail jump. */
static bool inside(const struct flow_code *code, const struct flow_bounds *bounds, uint64_t target)
{
	const struct symbol *symbol;
	size_t length = bounds->name ? strlen(bounds->name) : 0;

	if ((target >= bounds->low && target < bounds->high) || (target >= bounds->cold_low && target < bounds->cold_high))
		return true;
	symbol = code->symbols ? symbols_find(&code->symbols->functions, target) : NULL;
	if (!bounds->high) /* no function is known here: another one begins at a symbol or at a stub */
		return !(symbol && symbol->value == target) && flow_callee_at(code, target).vaddr == target;
	/* `name.cold`, where nobody said where it is */
	return symbol && length && !strncmp(symbol->name, bounds->name, length) && !strncmp(symbol->name + length, ".cold", 5);
}

struct flow_next flow_step(const struct flow_code *code, const struct flow_bounds *bounds, struct flow_machine *machine,
			   const struct flow_instruction *instruction, flow_emit *emit, void *context)
{
	const struct step step = { code, machine, instruction, emit, context };
	const ZydisDecodedOperand *operand = instruction->operands;
	struct flow_next next = { .to = { instruction->next }, .count = 1 };
	struct flow_callee callee;
	uint64_t target = 0;
	bool direct;

	switch (instruction->decoded.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		callee = target_of(&step, &direct, &target);
		emit_arguments(&step, FLOW_CALL, &callee);
		step_call(&step, &callee);
		if (flow_never_returns(code, &callee))
			next.count = 0;
		break;
	case ZYDIS_CATEGORY_RET:
		if (machine->registers[FLOW_RAX].kind == VALUE_POINTER) {
			struct flow_fact fact = fact_of(&step, FLOW_RETURN);

			fact.offset = machine->registers[FLOW_RAX].number;
			emit(context, &fact);
		}
		return (struct flow_next){ .ends = true };
	case ZYDIS_CATEGORY_UNCOND_BR:
		callee = target_of(&step, &direct, &target);
		if (direct && inside(code, bounds, target))
			return (struct flow_next){ .to = { target }, .count = 1 };
		if (direct || callee.symbol || callee.vaddr ||
		    (is_memory(operand) && operand->mem.index == ZYDIS_REGISTER_NONE)) { /* the latter: a virtual function */
			emit_arguments(&step, FLOW_JUMP, &callee);
		} else { /* a table of jumps, likely */
			struct flow_fact fact = fact_of(&step, FLOW_LOST);

			emit(context, &fact);
		}
		return (struct flow_next){ .ends = true };
	case ZYDIS_CATEGORY_COND_BR: {
		ZydisMnemonic mnemonic = instruction->decoded.mnemonic;
		int taken = condition(&step, mnemonic == ZYDIS_MNEMONIC_JZ, mnemonic == ZYDIS_MNEMONIC_JNZ);

		callee = target_of(&step, &direct, &target);
		step_forget(&step); /* loop counts rcx */
		if (taken == 0)
			return next;
		if (!inside(code, bounds, target)) {
			emit_arguments(&step, FLOW_JUMP, &callee);
			if (taken == 1)
				return (struct flow_next){ .ends = true };
			next.ends = true; /* on one of its arms */
			return next;
		}
		if (taken == 1)
			return (struct flow_next){ .to = { target }, .count = 1 };
		return (struct flow_next){ .to = { instruction->next, target }, .count = 2, .branch = true };
	}
	default:
		if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_UD2 || instruction->decoded.mnemonic == ZYDIS_MNEMONIC_HLT ||
		    instruction->decoded.mnemonic == ZYDIS_MNEMONIC_INT3)
			return (struct flow_next){ .count = 0 };
		step_flags(&step);
		if (!step_general(&step))
			step_forget(&step);
		break;
	}
	/* behind the function's last instruction there is nothing that it runs */
	if (next.count && bounds->high && !inside(code, bounds, instruction->next))
		next.count = 0;
	return next;
}
