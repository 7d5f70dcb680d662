/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_values.c: see flow_values.h.
 *
 * Of memory, only the frame is modelled. A word's name is its distance from rsp or from rbp at the
 * start. The distance between those two is unknown, so a word written under one name and read under
 * the other isn't found. A write through an unknown pointer is assumed to miss the frame.
 *
 * probe_eval.h interprets the same instructions with other values, and shares only the decoder and
 * flow_address(): here a value is the pointer plus a constant that all paths must agree on; there
 * it is an expression (an argument, masked and shifted, a distance that becomes an index) on one
 * path. One type for both would be their union, and each step would have to ignore the other's
 * half.
 */
#include "flow_values.h"

#include <string.h>

static const struct flow_value nothing;

bool flow_same(const struct flow_value *a, const struct flow_value *b)
{
	return a->kind == b->kind && a->number == b->number &&
	       (a->kind != VALUE_IMPORT || a->symbol == b->symbol || !strcmp(a->symbol, b->symbol));
}

struct flow_value flow_moved(struct flow_value value, int64_t distance)
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
		if (machine->vectors[i][0].kind == VALUE_POINTER ||
		    machine->vectors[i][1].kind == VALUE_POINTER)
			return true;
	for (unsigned i = 0; i < machine->place_count; i++)
		if (machine->places[i].value.kind == VALUE_POINTER)
			return true;
	return false;
}

static struct flow_place *place_at(const struct flow_machine *machine, enum flow_value_kind base,
				   int64_t displacement)
{
	for (unsigned i = 0; i < machine->place_count; i++)
		if (machine->places[i].base == base &&
		    machine->places[i].displacement == displacement)
			return (struct flow_place *)&machine->places[i];
	return NULL;
}

static bool meet_value(struct flow_value *value, const struct flow_value *other)
{
	if (value->kind == VALUE_NONE || flow_same(value, other))
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

		if (theirs && flow_same(&place->value, &theirs->value)) {
			i++;
		} else {
			*place = machine->places[--machine->place_count];
			lost = true;
		}
	}
	return lost;
}

void flow_places_forget(struct flow_machine *machine, enum flow_value_kind base,
			int64_t displacement, uint64_t bytes)
{
	for (unsigned i = 0; i < machine->place_count;) {
		uint64_t behind =
			(uint64_t)machine->places[i].displacement - (uint64_t)displacement;

		if (machine->places[i].base == base && (behind < bytes || behind + 7 < 7))
			machine->places[i] = machine->places[--machine->place_count];
		else
			i++;
	}
}

void flow_places_put(struct flow_machine *machine, enum flow_value_kind base, int64_t displacement,
		     const struct flow_value *value)
{
	unsigned at = machine->place_count;

	flow_places_forget(machine, base, displacement, 8);
	if (value->kind == VALUE_NONE)
		return;
	at = machine->place_count;
	if (at == FLOW_PLACES) { /* full: the pointer replaces another value */
		for (at = 0; at < FLOW_PLACES && machine->places[at].value.kind == VALUE_POINTER;
		     at++)
			;
		if (at == FLOW_PLACES || value->kind != VALUE_POINTER)
			return;
	} else {
		machine->place_count++;
	}
	machine->places[at] = (struct flow_place){ base, displacement, *value };
}

/* ---- operands ---- */

unsigned flow_number_of(ZydisRegister name)
{
	/* rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi in x86's order */
	static const uint8_t numbers[8] = { FLOW_RAX, FLOW_RCX, FLOW_RDX, FLOW_RBX,
					    FLOW_RSP, FLOW_RBP, FLOW_RSI, FLOW_RDI };

	if (name < ZYDIS_REGISTER_RAX || name > ZYDIS_REGISTER_R15)
		return FLOW_NONE;
	return name - ZYDIS_REGISTER_RAX < 8 ? numbers[name - ZYDIS_REGISTER_RAX]
					     : (unsigned)(name - ZYDIS_REGISTER_RAX);
}

unsigned flow_number_of_part(ZydisRegister name)
{
	return flow_number_of(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name));
}

static unsigned vector_of(ZydisRegister name)
{
	return name >= ZYDIS_REGISTER_XMM0 && name <= ZYDIS_REGISTER_XMM15
		       ? (unsigned)(name - ZYDIS_REGISTER_XMM0)
		       : FLOW_NONE;
}

unsigned flow_register_of(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? flow_number_of(operand->reg.value)
							    : FLOW_NONE;
}

unsigned flow_xmm_of(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? vector_of(operand->reg.value)
							    : FLOW_NONE;
}

struct flow_value flow_number_value(const struct flow_context *step, uint64_t number)
{
	if (step->code->file->type != ET_EXEC || !binary_flags(step->code->file, number))
		return nothing;
	return (struct flow_value){ VALUE_CONSTANT, (int64_t)number, NULL };
}

struct flow_value flow_address_of(const struct flow_context *step,
				  const ZydisDecodedOperand *operand)
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
		return flow_number_value(step, (uint64_t)displacement);
	if (base == ZYDIS_REGISTER_RIP)
		return flow_address(step->instruction, operand, &absolute)
			       ? (struct flow_value){ VALUE_CONSTANT, (int64_t)absolute, NULL }
			       : nothing;

	unsigned number = flow_number_of(base);

	return number == FLOW_NONE ? nothing
				   : flow_moved(step->machine->registers[number], displacement);
}

struct flow_value flow_load_at(const struct flow_context *step, const struct flow_value *address)
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
			return (struct flow_value){ VALUE_IMPORT, (int64_t)word.value,
						    word.symbol };
		return word.kind == WORD_PLAIN ? flow_number_value(step, word.value) : nothing;
	default: return nothing;
	}
}

struct flow_fact flow_fact_of(const struct flow_context *step, enum flow_kind kind)
{
	return (struct flow_fact){ .kind = kind,
				   .vaddr = step->instruction->vaddr,
				   .next = step->instruction->next,
				   .base = FLOW_NONE };
}

void flow_emit_store(const struct flow_context *step, const ZydisDecodedOperand *operand,
		     const struct flow_value *address, int64_t into, const struct flow_value *value)
{
	const ZydisDecodedOperandMem *memory = &operand->mem;
	struct flow_fact fact = flow_fact_of(step, FLOW_STORE);

	fact.offset = value->number;
	fact.displacement = (memory->disp.has_displacement ? memory->disp.value : 0) + into;
	if (address->kind == VALUE_CONSTANT) {
		fact.value = (uint64_t)address->number;
		fact.displacement = 0;
	} else if (address->kind == VALUE_IMPORT) {
		fact.callee.symbol = address->symbol;
		fact.displacement = address->number;
	} else if (memory->segment == ZYDIS_REGISTER_FS || memory->segment == ZYDIS_REGISTER_GS) {
		return; /* thread-local: no rule could look the address up */
	} else {
		fact.base = flow_number_of(memory->base);
		if (memory->index != ZYDIS_REGISTER_NONE)
			fact.scale = memory->scale;
		if (memory->base == ZYDIS_REGISTER_NONE && memory->index != ZYDIS_REGISTER_NONE &&
		    memory->scale == 1) {
			fact.base = flow_number_of(memory->index);
			fact.scale = 0;
		}
		if (fact.base == FLOW_NONE) { /* table(,%rax,8) */
			fact.value = (uint64_t)fact.displacement;
			fact.displacement = 0;
			if (!binary_flags(step->code->file, fact.value))
				return;
		}
	}
	step->emit(step->context, &fact);
}

/* True if it writes zeros, as compilers expand memset, or is a string instruction. */
static bool clears(const struct flow_context *step)
{
	const ZydisDecodedOperand *from = &step->instruction->operands[1];

	return step->instruction->decoded.meta.category == ZYDIS_CATEGORY_STRINGOP ||
	       (step->instruction->decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
		from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !from->imm.value.u);
}

/* Emits FLOW_WRITE if the operand is in the block and more than zeros are written. */
static void emit_write(const struct flow_context *step, const ZydisDecodedOperand *operand,
		       const struct flow_value *address)
{
	struct flow_fact fact = flow_fact_of(step, FLOW_WRITE);
	unsigned base = flow_number_of(operand->mem.base);

	if (address->kind == VALUE_POINTER)
		fact.offset = address->number;
	else if (base != FLOW_NONE && step->machine->registers[base].kind == VALUE_POINTER)
		fact.offset = INT64_MAX;
	else
		return;
	if (!clears(step))
		step->emit(step->context, &fact);
}

void flow_store_word(const struct flow_context *step, const ZydisDecodedOperand *operand,
		     int64_t into, struct flow_value value)
{
	struct flow_value address = flow_moved(flow_address_of(step, operand), into);

	if (address.kind == VALUE_RSP || address.kind == VALUE_RBP)
		flow_places_put(step->machine, address.kind, address.number, &value);
	if (value.kind == VALUE_POINTER)
		flow_emit_store(step, operand, &address, into, &value);
	if (address.kind == VALUE_POINTER &&
	    (value.kind == VALUE_CONSTANT || value.kind == VALUE_IMPORT)) {
		struct flow_fact fact = flow_fact_of(step, FLOW_VTABLE);

		fact.offset = address.number;
		if (value.kind == VALUE_CONSTANT) {
			fact.value = (uint64_t)value.number;
		} else {
			fact.callee.symbol = value.symbol;
			fact.displacement = value.number;
		}
		step->emit(step->context, &fact);
	} else {
		emit_write(step, operand, &address);
	}
}

void flow_forget_memory(const struct flow_context *step, const ZydisDecodedOperand *operand)
{
	struct flow_value address = flow_address_of(step, operand);

	emit_write(step, operand, &address);
	if (address.kind == VALUE_RSP || address.kind == VALUE_RBP)
		flow_places_forget(step->machine, address.kind, address.number, operand->size / 8);
}

void flow_forget_register(struct flow_machine *machine, ZydisRegister name)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
	unsigned number = flow_number_of(whole);

	if (number != FLOW_NONE)
		machine->registers[number] = nothing;
	else if (whole >= ZYDIS_REGISTER_ZMM0 && whole <= ZYDIS_REGISTER_ZMM15)
		memset(machine->vectors[whole - ZYDIS_REGISTER_ZMM0], 0,
		       sizeof(machine->vectors[0]));
}

struct flow_value flow_value_of(const struct flow_context *step, const ZydisDecodedOperand *operand)
{
	unsigned number = flow_register_of(operand);
	struct flow_value address;

	if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return flow_number_value(step, operand->imm.value.u);
	if (number != FLOW_NONE)
		return step->machine->registers[number];
	if (!flow_is_memory(operand) || operand->size != 64)
		return nothing;
	address = flow_address_of(step, operand);
	return flow_load_at(step, &address);
}

void flow_assign(const struct flow_context *step, const ZydisDecodedOperand *operand,
		 struct flow_value value)
{
	unsigned number = flow_register_of(operand);

	if (number != FLOW_NONE)
		step->machine->registers[number] = value;
	else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
		flow_forget_register(step->machine, operand->reg.value);
	else if (flow_is_memory(operand) && operand->size == 64)
		flow_store_word(step, operand, 0, value);
	else if (flow_is_memory(operand))
		flow_forget_memory(step, operand);
}
