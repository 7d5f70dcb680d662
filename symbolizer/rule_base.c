/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_base.c: what does the register point at through which the pointer is stored?
 *
 * `this->items = p` is `mov (slot of this), %rdx; mov %rax, 16(%rdx)` without optimisation, and with it the object's variable may be nowhere
 * by then. So the code in front of the store is read backwards, in the order in which it stands: a copy leads on to the other register, a
 * load to the member that it loads, until a register or a slot is a variable's. That isn't the flow of control, but it is what compilers
 * write, and what it gives is the weakest kind of answer, checked by size.
 */
#include <string.h>

#include "flow_code.h"
#include "rule.h"

enum { WINDOW = 40, DEPTH = 6, CODE_MAX = 1 << 16 };

struct window {
	struct rule_work *work;
	struct flow_instruction at[WINDOW]; /* a ring */
	size_t count;                       /* of all that were decoded; the last WINDOW of them are kept */
	unsigned asked;
};

static const struct flow_instruction *instruction(const struct window *window, size_t index)
{
	return &window->at[index % WINDOW];
}

static unsigned number_of(ZydisRegister name)
{
	static const uint8_t dwarf[] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };
	ZydisRegister whole = name ? ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name) : ZYDIS_REGISTER_NONE;

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ? dwarf[whole - ZYDIS_REGISTER_RAX] : FLOW_NONE;
}

/* The pointer type that lies at `offset` of a variable or of a type. */
static bool pointer_in(struct rule_work *work, const struct die_type *type, uint64_t offset, struct die_type *out)
{
	struct die_type element = *type;
	const char *name;

	for (unsigned i = 0; element.kind == DIE_ARRAY && i < 8; i++) {
		if (!die_type_target(work->reader->units, &element, &element) || !element.bytes)
			return false;
		offset %= element.bytes;
	}
	if (element.kind == DIE_POINTER) {
		*out = element;
		return offset % 8 == 0;
	}
	return element.kind == DIE_CLASS && die_type_member_at(work->reader->units, &element, offset, out, &name);
}

/* The variable in a register, or that lies at [reg + displacement], in front of the instruction. */
static bool variable_at(struct window *window, uint64_t vaddr, unsigned reg, bool memory, int64_t displacement, struct die_type *out)
{
	struct dwarf_variable found[RULE_VARIABLES];
	size_t count;

	if (++window->asked > WINDOW)
		return false;
	count = dwarf_units_variables(window->work->reader->units, vaddr, found, RULE_VARIABLES);
	for (size_t i = 0; i < count; i++) {
		struct die_type type;

		if (found[i].place != (memory ? DWARF_PLACE_MEMORY : DWARF_PLACE_REGISTER) || found[i].reg != reg ||
		    !die_type(window->work->reader->units, &found[i].type, &type))
			continue;
		if (!memory) {
			*out = type;
			return type.kind == DIE_POINTER;
		}
		if (displacement >= found[i].displacement && (uint64_t)(displacement - found[i].displacement) < type.bytes)
			return pointer_in(window->work, &type, (uint64_t)(displacement - found[i].displacement), out);
	}
	return false;
}

static bool trace(struct window *window, size_t before, unsigned reg, unsigned depth, struct rule_base *out);

/* What a load gives. */
static bool loaded(struct window *window, size_t index, const ZydisDecodedOperand *from, unsigned depth, struct rule_base *out)
{
	const struct flow_instruction *at = instruction(window, index);
	struct rule_work *work = window->work;
	unsigned base = number_of(from->mem.base);
	struct rule_base object;
	struct die_type target;
	uint64_t address;

	out->displacement = 0;
	out->indexed = false;
	if (from->mem.base == ZYDIS_REGISTER_RIP && flow_address(at, from, &address)) {
		struct dwarf_variable global;
		struct die_type type;

		return dwarf_units_global(work->reader->units, address, &global) && die_type(work->reader->units, &global.type, &type) &&
		       pointer_in(work, &type, address - (uint64_t)global.displacement, &out->type);
	}
	if (base == FLOW_NONE)
		return false;
	if ((base == FLOW_RSP || base == FLOW_RBP) && from->mem.index == ZYDIS_REGISTER_NONE &&
	    variable_at(window, at->vaddr, base, true, from->mem.disp.value, &out->type))
		return true;
	if (base == FLOW_RSP || !trace(window, index, base, depth + 1, &object) ||
	    !die_type_target(work->reader->units, &object.type, &target))
		return false;
	object.displacement += from->mem.disp.value;
	object.indexed |= from->mem.index != ZYDIS_REGISTER_NONE;
	if (target.kind == DIE_POINTER) {
		out->type = target; /* an element of an array of pointers */
		return object.displacement % 8 == 0;
	}
	return !object.indexed && object.displacement >= 0 && pointer_in(work, &target, (uint64_t)object.displacement, &out->type);
}

/* What is in `reg` in front of instruction number `before`. */
static bool trace(struct window *window, size_t before, unsigned reg, unsigned depth, struct rule_base *out)
{
	size_t oldest = window->count > WINDOW ? window->count - WINDOW : 0;
	uint64_t vaddr = before < window->count ? instruction(window, before)->vaddr : window->work->ret;

	memset(out, 0, sizeof(*out));
	if (depth > DEPTH || reg >= FLOW_REGISTERS)
		return false;
	for (size_t i = before;;) {
		if (variable_at(window, vaddr, reg, false, 0, &out->type))
			return true;
		if (i == oldest)
			return false;
		i--;

		const struct flow_instruction *at = instruction(window, i);
		const ZydisDecodedOperand *to = &at->operands[0], *from = &at->operands[1];
		bool writes = false;

		vaddr = at->vaddr;
		for (unsigned o = 0; o < at->decoded.operand_count; o++)
			writes |= at->operands[o].type == ZYDIS_OPERAND_TYPE_REGISTER && at->operands[o].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
				  number_of(at->operands[o].reg.value) == reg;
		if (at->decoded.meta.category == ZYDIS_CATEGORY_CALL)
			writes |= reg != FLOW_RBX && reg != FLOW_RBP && reg != FLOW_RSP && reg < 12;
		if (!writes)
			continue;
		if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || number_of(to->reg.value) != reg || to->size != 64)
			return false;
		switch (at->decoded.mnemonic) {
		case ZYDIS_MNEMONIC_MOV:
			if (from->type == ZYDIS_OPERAND_TYPE_MEMORY) {
				struct rule_base load;

				if (!loaded(window, i, from, depth, &load))
					return false;
				load.displacement += out->displacement;
				load.indexed |= out->indexed;
				*out = load;
				return true;
			}
			if (from->type != ZYDIS_OPERAND_TYPE_REGISTER)
				return false;
			reg = number_of(from->reg.value);
			break;
		case ZYDIS_MNEMONIC_LEA:
			out->displacement += from->mem.disp.value;
			out->indexed |= from->mem.index != ZYDIS_REGISTER_NONE;
			reg = number_of(from->mem.base);
			break;
		case ZYDIS_MNEMONIC_ADD:
		case ZYDIS_MNEMONIC_SUB:
			if (from->type == ZYDIS_OPERAND_TYPE_REGISTER) {
				/* array + index * 8: whichever of the two is a pointer */
				struct rule_base sum;

				out->indexed = true;
				if (at->decoded.mnemonic == ZYDIS_MNEMONIC_ADD &&
				    trace(window, i, number_of(from->reg.value), depth + 1, &sum)) {
					sum.indexed = true;
					*out = sum;
					return true;
				}
			} else if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
				out->displacement += at->decoded.mnemonic == ZYDIS_MNEMONIC_ADD ? from->imm.value.s : -from->imm.value.s;
			} else {
				return false;
			}
			break;
		default:
			return false;
		}
		if (reg >= FLOW_REGISTERS || reg == FLOW_RSP)
			return false;
	}
}

bool rule_base_of(struct rule_work *work, uint64_t vaddr, unsigned reg, struct rule_base *out)
{
	struct window window = { .work = work };
	uint64_t at = work->low;

	if (!work->reader->units || !work->low || vaddr < work->low || vaddr - work->low > CODE_MAX)
		return false;
	while (at < vaddr) {
		struct flow_instruction *next = &window.at[window.count % WINDOW];

		if (!flow_decode(&work->reader->code, at, next))
			return false;
		at = next->next;
		window.count++;
	}
	/* the store itself, so that it has an address */
	if (at != vaddr || !flow_decode(&work->reader->code, at, &window.at[window.count % WINDOW]))
		return false;
	window.count++;
	return trace(&window, window.count - 1, reg, 0, out) && out->type.kind == DIE_POINTER;
}
