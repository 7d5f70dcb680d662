/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_step.c: see flow_step.h.
 *
 * Compilers copy pointers with few instructions, which are modelled here: moves, lea, add and sub
 * of constants, push and pop, exchanges, conditional moves, and vector moves (flow_vector.c). For
 * any other instruction, Zydis tells the registers and memory that it writes, and these are
 * forgotten: an unknown instruction can lose the pointer, never invent it. Writes to 32 bits of a
 * register clear the rest and so lose it too.
 *
 * Calls keep rbx, rbp, rsp and r12 … r15, by the ABI. Placement operator new returns its second
 * argument and memset and its like their first, by their standards; nothing is assumed of other
 * functions. A call may change frame words at and after an address that it receives.
 */
#include "flow_step.h"

#include <string.h>

#include "../../src/base/text.h"
#include "flow_calls.h"
#include "flow_vector.h"

/*
 * Bytes that a call may change at a frame address that it receives. Single-stepped through clang
 * -O2 compiling a file, 732 blocks, 7,000 frame words that were said to hold the pointer: with 8 or
 * 64 bytes 828 of them did not, with 256 all do.
 */
#define GIVEN_BYTES 256

static const struct flow_value nothing;

/* rdi, rsi, rdx, rcx, r8, r9 */
static const uint8_t arguments[FLOW_ARGUMENTS] = { FLOW_RDI, FLOW_RSI, FLOW_RDX, FLOW_RCX, 8, 9 };

/* ---- instructions ---- */

static void push(const struct flow_context *step, struct flow_value value)
{
	struct flow_value *rsp = &step->machine->registers[FLOW_RSP];

	*rsp = step->instruction->decoded.operand_width == 64 ? flow_moved(*rsp, -8) : nothing;
	if (rsp->kind == VALUE_RSP || rsp->kind == VALUE_RBP)
		flow_places_put(step->machine, rsp->kind, rsp->number, &value);
}

static struct flow_value pop(const struct flow_context *step)
{
	struct flow_value *rsp = &step->machine->registers[FLOW_RSP],
			  value = flow_load_at(step, rsp);

	if (step->instruction->decoded.operand_width != 64) {
		*rsp = nothing;
		return nothing;
	}
	*rsp = flow_moved(*rsp, 8);
	return value;
}

/* Tells whether a conditional move or jump happens, if its flags are known to be a null check of
 * the pointer. 1: it does; 0: it doesn't; -1: unknown. */
static int condition(const struct flow_context *step, bool zero, bool not_zero)
{
	if (!step->machine->tested || !(zero || not_zero))
		return -1;
	return not_zero; /* the pointer isn't null on any path that is followed */
}

static bool step_cmov(const struct flow_context *step)
{
	ZydisMnemonic mnemonic = step->instruction->decoded.mnemonic;
	const ZydisDecodedOperand *to = step->instruction->operands;
	struct flow_value old, new;

	if (step->instruction->decoded.meta.category != ZYDIS_CATEGORY_CMOV ||
	    flow_register_of(to) == FLOW_NONE)
		return false;
	old = flow_value_of(step, to);
	new = flow_value_of(step, to + 1);
	switch (condition(step, mnemonic == ZYDIS_MNEMONIC_CMOVZ,
			  mnemonic == ZYDIS_MNEMONIC_CMOVNZ)) {
	case 0: break;
	case 1: flow_assign(step, to, new); break;
	default: flow_assign(step, to, flow_same(&old, &new) ? old : nothing); break;
	}
	return true;
}

/* Models the instruction. False: it has no model here. */
static bool step_general(const struct flow_context *step)
{
	const ZydisDecodedInstruction *decoded = &step->instruction->decoded;
	const ZydisDecodedOperand *to = step->instruction->operands, *from = to + 1;
	struct flow_value *registers = step->machine->registers, value;
	int64_t distance;

	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		    to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->size == 32) {
			/* writes the whole register */
			unsigned whole = flow_number_of_part(to->reg.value);

			if (whole != FLOW_NONE)
				registers[whole] =
					flow_number_value(step, from->imm.value.u & UINT32_MAX);
			return true;
		}
		flow_assign(step, to, to->size == 64 ? flow_value_of(step, from) : nothing);
		return true;
	case ZYDIS_MNEMONIC_LEA:
		flow_assign(step, to, to->size == 64 ? flow_address_of(step, from) : nothing);
		return true;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (from->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || flow_register_of(to) == FLOW_NONE)
			return false;
		distance = from->imm.value.s;
		flow_assign(step, to,
			    flow_moved(flow_value_of(step, to),
				       decoded->mnemonic == ZYDIS_MNEMONIC_ADD ? distance
									       : -distance));
		return true;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		if (flow_register_of(to) == FLOW_NONE)
			return false;
		flow_assign(step, to,
			    flow_moved(flow_value_of(step, to),
				       decoded->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1));
		return true;
	case ZYDIS_MNEMONIC_PUSH:
		push(step, to->size == 64 ? flow_value_of(step, to) : nothing);
		return true;
	case ZYDIS_MNEMONIC_POP:
		value = pop(step);
		flow_assign(step, to, value);
		return true;
	case ZYDIS_MNEMONIC_LEAVE:
		registers[FLOW_RSP] = registers[FLOW_RBP];
		value = pop(step);
		registers[FLOW_RBP] = value;
		return true;
	case ZYDIS_MNEMONIC_XCHG:
		if (to->size != 64)
			return false;
		value = flow_value_of(step, to);
		flow_assign(step, to, flow_value_of(step, from));
		flow_assign(step, from, value);
		return true;
	case ZYDIS_MNEMONIC_CMPXCHG: /* stores, or does not; rax gets what was there */
		if (to->size != 64)
			return false;
		value = flow_value_of(step, from);
		if (flow_is_memory(to)) {
			struct flow_value address = flow_address_of(step, to);

			if (value.kind == VALUE_POINTER)
				flow_emit_store(step, to, &address, 0, &value);
			flow_forget_memory(step, to);
		} else {
			flow_assign(step, to, nothing);
		}
		registers[FLOW_RAX] = nothing;
		return true;
	default: return step_cmov(step) || flow_vector_step(step);
	}
}

static void step_forget(const struct flow_context *step)
{
	for (unsigned i = 0; i < step->instruction->decoded.operand_count; i++) {
		const ZydisDecodedOperand *operand = &step->instruction->operands[i];

		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
			flow_forget_register(step->machine, operand->reg.value);
		else if (flow_is_memory(operand))
			flow_forget_memory(step, operand);
	}
}

static void step_flags(const struct flow_context *step)
{
	const ZydisDecodedInstruction *decoded = &step->instruction->decoded;
	const ZydisDecodedOperand *first = step->instruction->operands, *second = first + 1;
	const ZydisAccessedFlags *flags = decoded->cpu_flags;

	if (!flags || !((flags->modified | flags->set_0 | flags->set_1 | flags->undefined) &
			ZYDIS_CPUFLAG_ZF))
		return;
	step->machine->tested = false;
	if (first->size != 64)
		return;
	if (decoded->mnemonic == ZYDIS_MNEMONIC_TEST)
		step->machine->tested = flow_register_of(first) != FLOW_NONE &&
					flow_register_of(first) == flow_register_of(second) &&
					flow_value_of(step, first).kind == VALUE_POINTER;
	else if (decoded->mnemonic == ZYDIS_MNEMONIC_CMP)
		step->machine->tested = second->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
					!second->imm.value.u &&
					flow_value_of(step, first).kind == VALUE_POINTER;
}

/* ---- calls and jumps ---- */

/* Records the type_info in the second argument. */
static void put_thrown(const struct flow_context *step, struct flow_fact *fact)
{
	const struct flow_value *type = &step->machine->registers[FLOW_RSI];

	if (type->kind == VALUE_CONSTANT)
		fact->value = (uint64_t)type->number;
	else if (type->kind == VALUE_IMPORT && !type->number)
		fact->import = type->symbol;
}

static void emit_arguments(const struct flow_context *step, enum flow_kind kind,
			   const struct flow_callee *callee)
{
	for (unsigned i = 0; i < FLOW_ARGUMENTS; i++) {
		const struct flow_value *value = &step->machine->registers[arguments[i]];
		struct flow_fact fact = flow_fact_of(step, kind);

		if (value->kind != VALUE_POINTER)
			continue;
		fact.argument = i;
		fact.offset = value->number;
		fact.callee = *callee;
		if (!i && flow_throws(callee->symbol))
			put_thrown(step, &fact);
		step->emit(step->context, &fact);
	}
}

/* True if it frees its first argument: later instructions say nothing about the block. */
static bool frees(const char *name)
{
	static const char *const names[] = { "free", "cfree", "realloc", "reallocarray" };

	return name &&
	       (TEXT_IS_ONE_OF(name, names) || !strncmp(name, "_ZdlPv", 6) ||
		!strncmp(name, "_ZdaPv", 6)) &&
	       strcmp(name, "_ZdlPvS_") &&
	       strcmp(name, "_ZdaPvS_"); /* placement delete does nothing */
}

static void step_call(const struct flow_context *step, const struct flow_callee *callee)
{
	static const char *const returns_first[] = {
		"memset",	"memcpy",	 "memmove",	 "strcpy",
		"strncpy",	"strcat",	 "strncat",	 "__memset_chk",
		"__memcpy_chk", "__memmove_chk", "__strcpy_chk", "__strncpy_chk"
	};
	static const char *const returns_second[] = { "_ZnwmPv", "_ZnamPv" };
	struct flow_machine *machine = step->machine;
	struct flow_value result = nothing;
	bool freed = frees(callee->symbol) && machine->registers[FLOW_RDI].kind == VALUE_POINTER;

	if (TEXT_IS_ONE_OF(callee->symbol, returns_first))
		result = machine->registers[FLOW_RDI];
	else if (TEXT_IS_ONE_OF(callee->symbol, returns_second))
		result = machine->registers[FLOW_RSI];
	for (unsigned i = 0; i < FLOW_ARGUMENTS; i++) {
		const struct flow_value *value = &machine->registers[arguments[i]];

		if (value->kind == VALUE_RSP || value->kind == VALUE_RBP)
			flow_places_forget(machine, value->kind, value->number, GIVEN_BYTES);
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

static struct flow_callee target_of(const struct flow_context *step, bool *direct, uint64_t *target)
{
	const ZydisDecodedOperand *operand = step->instruction->operands;
	struct flow_value value = nothing;

	*direct = operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	if (flow_address(step->instruction, operand, target))
		return *direct ? flow_callee_at(step->code, *target)
			       : flow_callee_in(step->code, *target);
	if (flow_register_of(operand) != FLOW_NONE)
		value = flow_value_of(step, operand); /* the slot was loaded before */
	if (value.kind == VALUE_IMPORT && !value.number)
		return (struct flow_callee){ 0, value.symbol };
	if (value.kind == VALUE_CONSTANT &&
	    (binary_flags(step->code->file, (uint64_t)value.number) & PF_X))
		return flow_callee_at(step->code, (uint64_t)value.number);
	return (struct flow_callee){ 0, NULL };
}

/* True if `target` is a part of the function: a jump there is no tail jump. */
static bool inside(const struct flow_code *code, const struct flow_bounds *bounds, uint64_t target)
{
	const struct symbol *symbol;
	size_t length = bounds->name ? strlen(bounds->name) : 0;

	if ((target >= bounds->low && target < bounds->high) ||
	    (target >= bounds->cold_low && target < bounds->cold_high))
		return true;
	symbol = code->symbols ? symbols_find(&code->symbols->functions, target) : NULL;
	/* the function's bounds are unknown: another one starts at a symbol or at a stub */
	if (!bounds->high)
		return !(symbol && symbol->value == target) &&
		       flow_callee_at(code, target).vaddr == target;
	/* `name.cold`, if its address is unknown */
	return symbol && length && !strncmp(symbol->name, bounds->name, length) &&
	       !strncmp(symbol->name + length, ".cold", 5);
}

struct flow_next flow_step(const struct flow_code *code, const struct flow_bounds *bounds,
			   struct flow_machine *machine, const struct flow_instruction *instruction,
			   flow_emit *emit, void *context)
{
	const struct flow_context step = { code, machine, instruction, emit, context };
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
			struct flow_fact fact = flow_fact_of(&step, FLOW_RETURN);

			fact.offset = machine->registers[FLOW_RAX].number;
			emit(context, &fact);
		}
		return (struct flow_next){ .ends = true };
	case ZYDIS_CATEGORY_UNCOND_BR:
		callee = target_of(&step, &direct, &target);
		if (direct && inside(code, bounds, target))
			return (struct flow_next){ .to = { target }, .count = 1 };
		if (direct || callee.symbol || callee.vaddr ||
		    (flow_is_memory(operand) &&
		     operand->mem.index ==
			     ZYDIS_REGISTER_NONE)) { /* the latter: a virtual function */
			emit_arguments(&step, FLOW_JUMP, &callee);
		} else { /* a table of jumps, likely */
			struct flow_fact fact = flow_fact_of(&step, FLOW_LOST);

			emit(context, &fact);
		}
		return (struct flow_next){ .ends = true };
	case ZYDIS_CATEGORY_COND_BR: {
		ZydisMnemonic mnemonic = instruction->decoded.mnemonic;
		int taken = condition(&step, mnemonic == ZYDIS_MNEMONIC_JZ,
				      mnemonic == ZYDIS_MNEMONIC_JNZ);

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
		return (struct flow_next){ .to = { instruction->next, target }, .count = 2 };
	}
	default:
		if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_UD2 ||
		    instruction->decoded.mnemonic == ZYDIS_MNEMONIC_HLT ||
		    instruction->decoded.mnemonic == ZYDIS_MNEMONIC_INT3)
			return (struct flow_next){ .count = 0 };
		step_flags(&step);
		if (!step_general(&step))
			step_forget(&step);
		break;
	}
	/* no code of the function follows its last instruction */
	if (next.count && bounds->high && !inside(code, bounds, instruction->next))
		next.count = 0;
	return next;
}

static void emit_nothing(void *context, const struct flow_fact *fact)
{
}

/* Most bytes of code that are read in front of a call. Where no symbol tells the function's start,
 * it seems far away: a stripped Chromium took 9 s for that. */
enum { BEFORE_MOST = 4096 };

/* posix_memalign leaves the pointer in the frame word that its first argument is the address of.
 * The code in front of the call, in its order, says how far from rsp that is. */
void flow_begin(const struct flow_code *code, const struct flow_bounds *bounds, uint64_t ret,
		struct flow_machine *machine)
{
	struct flow_instruction instruction;
	struct flow_machine before, entry;
	struct flow_callee callee;
	struct flow_value pointer, rsp, word;
	uint64_t call;

	flow_machine_init(machine);
	if (!flow_may_call_named(code, ret) ||
	    !flow_call_before(code, bounds->low, ret, &call, &callee) || !callee.symbol ||
	    strcmp(callee.symbol, "posix_memalign") != 0 || call - bounds->low > BEFORE_MOST)
		return;
	pointer = machine->registers[FLOW_RAX];
	machine->registers[FLOW_RAX] = nothing;
	before = entry = *machine;
	for (uint64_t at = bounds->low; at && at < call; at = instruction.next) {
		if (!flow_decode(code, at, &instruction))
			return;
		flow_step(code, bounds, &before, &instruction, emit_nothing, NULL);
		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_RET)
			before = entry;
	}
	rsp = before.registers[FLOW_RSP];
	word = before.registers[FLOW_RDI];
	if (rsp.kind != VALUE_RSP || word.kind != VALUE_RSP)
		return;
	flow_places_put(machine, VALUE_RSP, word.number - rsp.number, &pointer);
	if (before.registers[FLOW_RBP].kind == VALUE_RSP) /* the frame's words have one name */
		machine->registers[FLOW_RBP] =
			flow_moved(before.registers[FLOW_RBP], -rsp.number);
}
