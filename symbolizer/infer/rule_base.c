/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_base.c: finds the target of the register through which the pointer is stored.
 *
 * `this->items = p` is `mov (slot of this), %rdx; mov %rax, 16(%rdx)` without optimisation, and
 * with it the object's variable may be nowhere by then. So the code before the store is read
 * backwards, in the order of its addresses: a copy leads on to the other register, a load to the
 * member that it loads (or, from the frame, to the register that was saved there), until the value
 * is a variable's value or address, or a register computed from it is a variable's. That isn't the
 * flow of control, but it is what compilers write, and its result is the weakest kind of answer,
 * checked by size.
 */
#include <string.h>

#include "../flow/flow_code.h"
#include "../flow/flow_values.h"
#include "../dwarf/debug_definitions.h"
#include "../dwarf/die.h"
#include "../dwarf/die_members.h"
#include "rule.h"

enum { WINDOW = 40, DEPTH = 6, CODE_MAX = 1 << 16 };

#define NO_COPY INT64_MIN

struct window {
	struct rule_work *work;
	struct flow_instruction at[WINDOW]; /* a ring */
	size_t count;                       /* all decoded instructions; `at` has the last WINDOW of
	                                     * them */
	unsigned asked;
};

static const struct flow_instruction *instruction(const struct window *window, size_t index)
{
	return &window->at[index % WINDOW];
}

/* Finds the pointer type at `offset` of a variable or of a type. */
static bool pointer_in(struct rule_work *work, const struct die_type *type, uint64_t offset,
		       struct die_type *out)
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
	return element.kind == DIE_CLASS &&
	       die_members_at(work->reader->units, &element, offset, out, &name);
}

/* Finds the target of a pointer; of a descriptor, any of its elements. */
static bool behind(struct rule_work *work, const struct die_type *pointer, struct die_type *out)
{
	struct die_type type = *pointer;

	if (type.by_address || !die_descriptor(&type.die))
		return die_type_target(work->reader->units, &type, out);
	type.kind = DIE_ARRAY;
	*out = type;
	return true;
}

/* Finds the target of the pointer variable that `reg` holds, or from which `reg` has a constant
 * distance, *displacement, before `vaddr`. */
static bool variable_in(struct window *window, uint64_t vaddr, unsigned reg, struct die_type *out,
			int64_t *displacement)
{
	struct die_type type;
	struct debug_variable found[RULE_VARIABLES];
	size_t count;

	if (++window->asked > WINDOW)
		return false;
	count = debug_variables_at(window->work->reader->units, vaddr, found, RULE_VARIABLES);
	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 0; i < count; i++) {
			/* a variable that lies at the register's address, like one passed by
			 * address */
			if (!round && found[i].place == DEBUG_PLACE_MEMORY && found[i].reg == reg &&
			    die_type(window->work->reader->units, &found[i].type, out)) {
				*displacement = -found[i].displacement;
				return true;
			}
			if (found[i].place != (round ? DEBUG_PLACE_VALUE : DEBUG_PLACE_REGISTER) ||
			    found[i].reg != reg ||
			    !die_type(window->work->reader->units, &found[i].type, &type))
				continue;
			/* one word of the variable */
			if (type.kind == DIE_CLASS ? !pointer_in(window->work, &type, found[i].into,
								 &type)
						   : found[i].into != 0)
				continue;
			if (type.kind == DIE_POINTER && behind(window->work, &type, out)) {
				*displacement = round ? -found[i].displacement : 0;
				return true;
			}
			if (!round)
				return false;
		}
	return false;
}

static bool is_frame(unsigned reg)
{
	return reg == FLOW_RSP || reg == FLOW_RBP;
}

/* Finds the variable in memory that [reg + displacement] is in. */
static bool variable_at(struct debug_units *units, uint64_t vaddr, unsigned reg,
			int64_t displacement, struct rule_base *out)
{
	struct debug_variable found[RULE_VARIABLES];
	size_t count = debug_variables_at(units, vaddr, found, RULE_VARIABLES);

	for (size_t i = 0; i < count; i++)
		if (found[i].place == DEBUG_PLACE_MEMORY && found[i].reg == reg &&
		    die_type(units, &found[i].type, &out->object) &&
		    displacement >= found[i].displacement &&
		    (uint64_t)(displacement - found[i].displacement) < out->object.bytes) {
			out->displacement = displacement - found[i].displacement;
			out->indexed = false;
			return true;
		}
	return false;
}

/* Returns the register that was saved in the frame slot from which instruction *index loads; sets
 * *index to the instruction that saved it. FLOW_NONE: unknown. */
static unsigned saved_register(const struct window *window, size_t oldest, size_t *index)
{
	const ZydisDecodedOperand *slot = &instruction(window, *index)->operands[1];

	for (size_t i = *index; i-- > oldest;) {
		const struct flow_instruction *at = instruction(window, i);
		const ZydisDecodedOperand *to = &at->operands[0], *from = &at->operands[1];

		for (unsigned o = 0; o < at->decoded.operand_count; o++)
			if (at->decoded.meta.category != ZYDIS_CATEGORY_CALL &&
			    at->operands[o].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    at->operands[o].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
			    flow_number_of_part(at->operands[o].reg.value) ==
				    flow_number_of_part(slot->mem.base))
				return FLOW_NONE; /* the frame's register has another value there */
		if (to->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    !(to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) ||
		    to->mem.base != slot->mem.base || to->mem.index != ZYDIS_REGISTER_NONE ||
		    to->mem.disp.value != slot->mem.disp.value)
			continue;
		if (at->decoded.mnemonic != ZYDIS_MNEMONIC_MOV || to->size != 64 ||
		    from->type != ZYDIS_OPERAND_TYPE_REGISTER)
			return FLOW_NONE;
		*index = i;
		return flow_number_of_part(from->reg.value);
	}
	return FLOW_NONE;
}

/* Returns the distance from `reg` to the register that `lea 16(%reg), %other` or `mov %reg, %other`
 * writes; NO_COPY: it is neither. */
static int64_t copy_distance(const struct flow_instruction *at, unsigned reg)
{
	const ZydisDecodedOperand *to = &at->operands[0], *from = &at->operands[1];

	if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || to->size != 64)
		return NO_COPY;
	if (at->decoded.mnemonic == ZYDIS_MNEMONIC_MOV)
		return from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
				       flow_number_of_part(from->reg.value) == reg
			       ? 0
			       : NO_COPY;
	return at->decoded.mnemonic == ZYDIS_MNEMONIC_LEA &&
			       from->mem.index == ZYDIS_REGISTER_NONE &&
			       flow_number_of_part(from->mem.base) == reg
		       ? from->mem.disp.value
		       : NO_COPY;
}

static bool trace(struct window *window, size_t before, unsigned reg, unsigned depth,
		  struct rule_base *out);

/* Traces the base of a memory operand, or its index: of two that are added either may be the
 * address. */
static bool either(struct window *window, size_t index, const ZydisDecodedOperand *operand,
		   unsigned depth, struct rule_base *out)
{
	return trace(window, index, flow_number_of_part(operand->mem.base), depth, out) ||
	       (operand->mem.index != ZYDIS_REGISTER_NONE && operand->mem.scale == 1 &&
		trace(window, index, flow_number_of_part(operand->mem.index), depth, out));
}

/* Finds the static variable at the address. False: there is none. */
static bool static_at(struct debug_units *units, uint64_t address, struct rule_base *out)
{
	struct debug_variable global;

	if (!debug_definitions_global(units, address, &global) ||
	    !die_type(units, &global.type, &out->object))
		return false;
	out->displacement = (int64_t)(address - (uint64_t)global.displacement);
	out->indexed = false;
	return true;
}

/* Finds the variable whose address [reg + displacement] holds. */
static bool variable_behind(struct debug_units *units, uint64_t vaddr, unsigned reg,
			    int64_t displacement, struct rule_base *out)
{
	struct debug_variable found[RULE_VARIABLES];
	size_t count = debug_variables_at(units, vaddr, found, RULE_VARIABLES);

	for (size_t i = 0; i < count; i++)
		if (found[i].place == DEBUG_PLACE_INDIRECT && found[i].reg == reg &&
		    found[i].displacement == displacement &&
		    die_type(units, &found[i].type, &out->object)) {
			out->displacement = 0;
			out->indexed = false;
			return true;
		}
	return false;
}

/* Finds the target of the pointer that is loaded from the operand `from`. */
static bool loaded(struct window *window, size_t index, const ZydisDecodedOperand *from,
		   unsigned depth, struct rule_base *out)
{
	const struct flow_instruction *at = instruction(window, index);
	struct debug_units *units = window->work->reader->units;
	unsigned base = flow_number_of_part(from->mem.base);
	struct rule_base object;
	struct die_type pointer;
	uint64_t address;

	if (from->mem.base == ZYDIS_REGISTER_RIP && flow_address(at, from, &address)) {
		if (!static_at(units, address, &object))
			return false;
	} else if (base == FLOW_NONE) {
		return false;
	} else if (is_frame(base) && from->mem.index == ZYDIS_REGISTER_NONE &&
		   ++window->asked <= WINDOW &&
		   variable_behind(units, at->vaddr, base, from->mem.disp.value, out)) {
		return true;
	} else if (is_frame(base) && ++window->asked <= WINDOW &&
		   variable_at(units, at->vaddr, base, from->mem.disp.value, &object)) {
		object.indexed = from->mem.index != ZYDIS_REGISTER_NONE;
	} else if (base != FLOW_RSP && either(window, index, from, depth + 1, &object)) {
		object.displacement += from->mem.disp.value;
		object.indexed |= from->mem.index != ZYDIS_REGISTER_NONE;
	} else {
		return false;
	}
	out->displacement = 0;
	out->indexed = false;
	if (object.object.kind == DIE_POINTER) /* an element of an array of pointers */
		return object.displacement % 8 == 0 &&
		       behind(window->work, &object.object, &out->object);
	return (!object.indexed || object.object.kind == DIE_ARRAY) && object.displacement >= 0 &&
	       pointer_in(window->work, &object.object, (uint64_t)object.displacement, &pointer) &&
	       behind(window->work, &pointer, &out->object);
}

/* A backward trace. It searches the value of `reg` before instruction `index`; `out` gathers the
 * sum so far. */
struct trail {
	struct window *window;
	size_t index, oldest;
	unsigned reg, depth;
	struct rule_base *out;
};
enum base_step { STEP_FOUND, STEP_ON, STEP_LOST };

/* Ends the trace at an object's address, adding the sum. */
static enum base_step found(struct trail *trail, const struct rule_base *object, bool indexed)
{
	trail->out->object = object->object;
	trail->out->displacement += object->displacement;
	trail->out->indexed |= object->indexed | indexed;
	return STEP_FOUND;
}

/* True if it is the address of a variable in the frame. */
static bool in_frame(struct trail *trail, unsigned base, int64_t displacement,
		     struct rule_base *out)
{
	struct window *window = trail->window;

	return is_frame(base) && ++window->asked <= WINDOW &&
	       variable_at(window->work->reader->units, instruction(window, trail->index)->vaddr,
			   base, displacement, out);
}

static enum base_step over_move(struct trail *trail, const ZydisDecodedOperand *from)
{
	struct rule_base object;

	if (from->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		trail->reg = flow_number_of_part(from->reg.value);
		return STEP_ON;
	}
	if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return static_at(trail->window->work->reader->units, from->imm.value.u, &object)
			       ? found(trail, &object, false)
			       : STEP_LOST;
	if (from->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return STEP_LOST;
	if (loaded(trail->window, trail->index, from, trail->depth, &object))
		return found(trail, &object, false);
	/* only writes to frame slots can be seen */
	if (!is_frame(flow_number_of_part(from->mem.base)) ||
	    from->mem.index != ZYDIS_REGISTER_NONE)
		return STEP_LOST;
	trail->reg = saved_register(trail->window, trail->oldest, &trail->index);
	return STEP_ON;
}

static enum base_step over_address(struct trail *trail, const struct flow_instruction *at,
				   const ZydisDecodedOperand *from)
{
	struct rule_base object;
	uint64_t address;

	if (from->mem.base == ZYDIS_REGISTER_RIP && flow_address(at, from, &address))
		return static_at(trail->window->work->reader->units, address, &object)
			       ? found(trail, &object, false)
			       : STEP_LOST;
	if (in_frame(trail, flow_number_of_part(from->mem.base), from->mem.disp.value, &object))
		return found(trail, &object, from->mem.index != ZYDIS_REGISTER_NONE);
	trail->out->displacement += from->mem.disp.value;
	trail->out->indexed |= from->mem.index != ZYDIS_REGISTER_NONE;
	trail->reg = flow_number_of_part(from->mem.base);
	return STEP_ON;
}

static enum base_step over_sum(struct trail *trail, const ZydisDecodedOperand *from, bool add)
{
	struct rule_base object;
	unsigned other;

	if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		trail->out->displacement += add ? from->imm.value.s : -from->imm.value.s;
		return STEP_ON;
	}
	if (from->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return STEP_LOST;
	/* array + index * 8: either of the two is a pointer */
	trail->out->indexed = true;
	other = flow_number_of_part(from->reg.value);
	if (add && in_frame(trail, other, trail->out->displacement, &object)) {
		trail->out->displacement = 0;
		return found(trail, &object, true);
	}
	return add && trace(trail->window, trail->index, other, trail->depth + 1, &object)
		       ? found(trail, &object, true)
		       : STEP_ON;
}

static bool writes_to(const struct flow_instruction *at, unsigned reg)
{
	/* the calling convention lets a function change these */
	if (at->decoded.meta.category == ZYDIS_CATEGORY_CALL && reg != FLOW_RBX &&
	    reg != FLOW_RBP && reg != FLOW_RSP && reg < 12)
		return true;
	for (unsigned i = 0; i < at->decoded.operand_count; i++)
		if (at->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    at->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    flow_number_of_part(at->operands[i].reg.value) == reg)
			return true;
	return false;
}

/* Steps back over an instruction that writes to the register. */
static enum base_step over(struct trail *trail, const struct flow_instruction *at)
{
	const ZydisDecodedOperand *to = &at->operands[0], *from = &at->operands[1];
	bool move = at->decoded.mnemonic == ZYDIS_MNEMONIC_MOV;

	if (to->type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    flow_number_of_part(to->reg.value) != trail->reg ||
	    (to->size != 64 &&
	     (to->size != 32 || from->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !move)))
		return STEP_LOST;
	if (move)
		return over_move(trail, from);
	if (at->decoded.mnemonic == ZYDIS_MNEMONIC_LEA)
		return over_address(trail, at, from);
	if (at->decoded.mnemonic == ZYDIS_MNEMONIC_ADD ||
	    at->decoded.mnemonic == ZYDIS_MNEMONIC_SUB)
		return over_sum(trail, from, at->decoded.mnemonic == ZYDIS_MNEMONIC_ADD);
	return STEP_LOST;
}

/* Finds the address in `reg` before instruction number `before`. */
static bool trace(struct window *window, size_t before, unsigned reg, unsigned depth,
		  struct rule_base *out)
{
	struct trail trail = { .window = window,
			       .index = before,
			       .reg = reg,
			       .depth = depth,
			       .out = out,
			       .oldest = window->count > WINDOW ? window->count - WINDOW : 0 };
	uint64_t vaddr =
		before < window->count ? instruction(window, before)->vaddr : window->work->ret;

	memset(out, 0, sizeof(*out));
	if (depth > DEPTH)
		return false;
	for (;;) {
		int64_t distance, delta;

		if (trail.reg >= FLOW_REGISTERS || trail.reg == FLOW_RSP)
			return false;
		if (variable_in(window, vaddr, trail.reg, &out->object, &delta)) {
			out->displacement += delta;
			return true;
		}
		if (trail.index == trail.oldest)
			return false;

		const struct flow_instruction *at = instruction(window, --trail.index);

		if (writes_to(at, trail.reg)) {
			enum base_step step = over(&trail, at);

			if (step != STEP_ON)
				return step == STEP_FOUND;
		} else if ((distance = copy_distance(at, trail.reg)) != NO_COPY &&
			   variable_in(window, at->next,
				       flow_number_of_part(at->operands[0].reg.value), &out->object,
				       &delta)) {
			out->displacement += delta - distance;
			return true;
		}
		vaddr = instruction(window, trail.index)->vaddr;
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
	/* the store itself, for its address */
	if (at != vaddr || !flow_decode(&work->reader->code, at, &window.at[window.count % WINDOW]))
		return false;
	window.count++;
	for (unsigned i = 0;
	     i < instruction(&window, window.count - 1)->decoded.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand =
			&instruction(&window, window.count - 1)->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    flow_number_of_part(operand->mem.base) == reg)
			return either(&window, window.count - 1, operand, 0, out);
	}
	return trace(&window, window.count - 1, reg, 0, out);
}

bool rule_base_of_frame(struct rule_work *work, uint64_t vaddr, unsigned reg, int64_t displacement,
			struct rule_base *out)
{
	return work->reader->units &&
	       variable_at(work->reader->units, vaddr, reg, displacement, out);
}
