/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_use.c: see object_use.h.
 *
 * This reads the straight code after the call, and that of functions that get the block as their
 * first argument: constructors, and those of their base classes. Their writes at constant offsets
 * are members if they are not all alike: of different widths, or some addresses of this file (a
 * vtable's, a function's) and others not; and if not all of them are constants. Elements of an
 * array are alike.
 *
 * Evidence against an object: the address of the block's end is computed, or one inside it with an
 * index; a call gets the block and its size; bytes are copied to it; writes overlap, as those of a
 * short copy do; constants come first and a zero byte last, as a string's characters do, or a zero
 * byte follows pieces of 16 bytes that are copied without a gap. A word one byte after an aligned
 * place is a short string's, in a member or an element.
 *
 * A conditional jump is not followed, unless it tests whether there is a block.
 */
#include "object_use.h"

#include <string.h>

#include "../flow/flow_calls.h"
#include "../flow/flow_code.h"
#include "../flow/flow_fact.h"
#include "../flow/flow_values.h"

enum {
	STEPS = 96, /* per function */
	JUMPS = 6,
	DEPTH = 3, /* nested functions that get the block */
	CALLS = 4, /* calls followed per function */
	MEMBERS = 24,
	WORD = 8,
	SHORT_STRING = 24,
	SAVED = 1 << FLOW_RBX | 1 << FLOW_RBP | 1 << FLOW_RSP | 0xf000,
};

/* A value that is written, or that a register holds. */
enum written_kind {
	WRITTEN_OTHER,
	WRITTEN_ZERO,
	WRITTEN_NUMBER,
	WRITTEN_CONSTANT, /* read from memory that never changes */
	WRITTEN_ADDRESS,	 /* of code or data; not of a read-only text, which may be in any
	                          * array */
};
struct object_member {
	int64_t offset;
	unsigned width; /* bytes */
	enum written_kind kind;
};
struct object_use {
	const struct flow_code *code;
	uint64_t bytes;
	struct object_member members[MEMBERS];
	unsigned count;
	bool refused; /* there is evidence against an object */
};

/* Registers of one function. */
struct object_walk {
	struct object_use *use;
	uint16_t holds; /* registers that point into the block */
	int64_t offsets[FLOW_REGISTERS];
	uint64_t numbers[FLOW_REGISTERS]; /* valid for kind WRITTEN_NUMBER */
	enum written_kind kinds[FLOW_REGISTERS], vectors[FLOW_VECTORS];
	bool tested; /* the flags tell whether there is a block */
	unsigned depth, calls;
};

static bool points(const struct object_walk *walk, ZydisRegister name)
{
	unsigned reg = flow_number_of(name);

	return reg < FLOW_REGISTERS && walk->holds >> reg & 1;
}

static void hold(struct object_walk *walk, unsigned reg, int64_t offset)
{
	walk->holds |= (uint16_t)(1u << reg);
	walk->offsets[reg] = offset;
	walk->use->refused |= offset == (int64_t)walk->use->bytes;
}

/* ---- what is written ---- */

static enum written_kind kind_of(const struct object_walk *walk,
				const struct flow_instruction *instruction,
				const ZydisDecodedOperand *operand)
{
	uint64_t address;
	unsigned reg;

	if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return operand->imm.value.u ? WRITTEN_NUMBER : WRITTEN_ZERO;
	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return flow_address(instruction, operand, &address) &&
				       !(binary_flags(walk->use->code->file, address) & PF_W)
			       ? WRITTEN_CONSTANT
			       : WRITTEN_OTHER;
	reg = flow_xmm_of(operand);
	if (reg < FLOW_VECTORS)
		return walk->vectors[reg];
	reg = operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? flow_number_of_part(operand->reg.value)
							   : FLOW_NONE;
	return reg < FLOW_REGISTERS ? walk->kinds[reg] : WRITTEN_OTHER;
}

static void add_member(struct object_walk *walk, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	const ZydisDecodedOperandMem *mem = &operands[0].mem;
	struct object_use *use = walk->use;
	struct object_member member = { .width = operands[0].size / 8, .kind = WRITTEN_OTHER };
	unsigned base = flow_number_of(mem->base);

	if (mem->index != ZYDIS_REGISTER_NONE &&
	    (points(walk, mem->base) || points(walk, mem->index))) {
		use->refused = true;
		return;
	}
	if (base >= FLOW_REGISTERS || !points(walk, mem->base) || use->count == MEMBERS)
		return;
	member.offset = walk->offsets[base] + mem->disp.value;
	if (member.offset < 0 || (uint64_t)member.offset + member.width > use->bytes) {
		use->refused = true;
		return;
	}
	if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_MOV ||
	    instruction->decoded.meta.category == ZYDIS_CATEGORY_DATAXFER ||
	    member.width > WORD)
		member.kind = kind_of(walk, instruction, &operands[1]);
	use->members[use->count++] = member;
}

/* ---- registers ---- */

static void set_vector(struct object_walk *walk, const struct flow_instruction *instruction,
		       unsigned vector)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	ZydisMnemonic mnemonic = instruction->decoded.mnemonic;
	bool clears = mnemonic == ZYDIS_MNEMONIC_XORPS || mnemonic == ZYDIS_MNEMONIC_XORPD ||
		      mnemonic == ZYDIS_MNEMONIC_PXOR || mnemonic == ZYDIS_MNEMONIC_VXORPS ||
		      mnemonic == ZYDIS_MNEMONIC_VPXOR;
	unsigned last = instruction->decoded.operand_count_visible - 1u;

	if (clears)
		walk->vectors[vector] =
			last && operands[last].reg.value == operands[last - 1].reg.value
				? WRITTEN_ZERO
				: WRITTEN_OTHER;
	else
		walk->vectors[vector] =
			last == 1 && operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY
				? kind_of(walk, instruction, &operands[1])
				: WRITTEN_OTHER;
}

/* Follows lea and add: true if the register then points to a known place in the block; a place that
 * isn't known is evidence against an object. */
static bool set_place(struct object_walk *walk, const struct flow_instruction *instruction,
		      unsigned reg)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	const ZydisDecodedOperandMem *mem = &operands[1].mem;
	uint64_t address;

	if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_LEA) {
		bool base = points(walk, mem->base), index = points(walk, mem->index);

		if (base && mem->index == ZYDIS_REGISTER_NONE) {
			hold(walk, reg,
			     walk->offsets[flow_number_of(mem->base)] + mem->disp.value);
			return true;
		}
		walk->use->refused |= base || index;
		if (flow_address(instruction, &operands[1], &address) &&
		    binary_flags(walk->use->code->file, address) & (PF_X | PF_W))
			walk->kinds[reg] = WRITTEN_ADDRESS;
	} else if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_ADD) {
		if (walk->holds >> reg & 1 && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			hold(walk, reg, walk->offsets[reg] + operands[1].imm.value.s);
			return true;
		}
		walk->use->refused |= walk->holds >> reg & 1 ||
				      (operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				       points(walk, operands[1].reg.value));
	}
	return false;
}

static void set_register(struct object_walk *walk, const struct flow_instruction *instruction,
			 unsigned reg)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	unsigned source = flow_register_of(&operands[1]);
	ZydisMnemonic mnemonic = instruction->decoded.mnemonic;
	enum written_kind kind = WRITTEN_OTHER;

	if (mnemonic == ZYDIS_MNEMONIC_MOV) {
		kind = kind_of(walk, instruction, &operands[1]);
		walk->numbers[reg] = source < FLOW_REGISTERS ? walk->numbers[source]
							     : operands[1].imm.value.u;
		if (source < FLOW_REGISTERS && walk->holds >> source & 1) {
			hold(walk, reg, walk->offsets[source]);
			walk->kinds[reg] = WRITTEN_OTHER;
			return;
		}
	} else if (mnemonic == ZYDIS_MNEMONIC_XOR &&
		   operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		   operands[0].reg.value == operands[1].reg.value) {
		kind = WRITTEN_ZERO;
	}
	walk->kinds[reg] = kind;
	if (!set_place(walk, instruction, reg))
		walk->holds &= (uint16_t)~(1u << reg);
}

static void write_operand(struct object_walk *walk, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *first = instruction->operands;
	unsigned reg;

	if (!instruction->decoded.operand_count_visible ||
	    !(first->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	if (first->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		add_member(walk, instruction);
		return;
	}
	if (first->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	reg = flow_xmm_of(first);
	if (reg < FLOW_VECTORS) {
		set_vector(walk, instruction, reg);
		return;
	}
	reg = flow_number_of_part(first->reg.value);
	if (reg < FLOW_REGISTERS)
		set_register(walk, instruction, reg);
}

/* ---- the walk ---- */

static void walk_function(struct object_use *use, uint64_t at, unsigned reg, unsigned depth);

static bool copies(const char *symbol)
{
	return strstr(symbol, "cpy") || strstr(symbol, "memmove") || strstr(symbol, "printf") ||
	       strstr(symbol, "read") || strstr(symbol, "realloc") || strstr(symbol, "recv");
}

static void note_call(struct object_walk *walk, const struct flow_instruction *instruction)
{
	static const unsigned arguments[] = { FLOW_RSI, FLOW_RDX, FLOW_RCX };
	struct object_use *use = walk->use;
	struct flow_callee callee = { 0, NULL };
	uint64_t target;

	if (flow_address(instruction, instruction->operands, &target))
		callee = instruction->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY
				 ? flow_callee_in(use->code, target)
				 : flow_callee_at(use->code, target);
	if (walk->holds >> FLOW_RDI & 1) {
		for (unsigned i = 0; i < 3; i++)
			use->refused |= walk->kinds[arguments[i]] == WRITTEN_NUMBER &&
					!walk->offsets[FLOW_RDI] &&
					walk->numbers[arguments[i]] == use->bytes;
		use->refused |= callee.symbol && copies(callee.symbol);
		if (callee.vaddr && !walk->offsets[FLOW_RDI] && walk->depth < DEPTH &&
		    walk->calls++ < CALLS)
			walk_function(use, callee.vaddr, FLOW_RDI, walk->depth + 1);
	}
	walk->holds &= SAVED;
	for (unsigned i = 0; i < FLOW_REGISTERS; i++)
		if (!(SAVED >> i & 1))
			walk->kinds[i] = WRITTEN_OTHER;
	memset(walk->vectors, 0, sizeof(walk->vectors));
}

/* Returns the next instruction's address; 0: the walk ends. */
static uint64_t next_of(struct object_walk *walk, const struct flow_instruction *instruction,
			unsigned *jumps)
{
	uint64_t target = flow_branch(&instruction->decoded, instruction->vaddr);

	switch (instruction->decoded.meta.category) {
	case ZYDIS_CATEGORY_RET:
		return 0;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return target && ++*jumps <= JUMPS ? target : 0;
	case ZYDIS_CATEGORY_COND_BR:
		return walk->tested && instruction->decoded.mnemonic == ZYDIS_MNEMONIC_JNZ
			       ? target
			       : instruction->next;
	default:
		return instruction->decoded.mnemonic == ZYDIS_MNEMONIC_UD2 ? 0 : instruction->next;
	}
}

static void walk_function(struct object_use *use, uint64_t at, unsigned reg, unsigned depth)
{
	struct object_walk walk = { .use = use, .depth = depth };
	struct flow_instruction instruction;
	unsigned jumps = 0;

	hold(&walk, reg, 0);
	for (unsigned i = 0; i < STEPS && at && !use->refused &&
			     flow_decode(use->code, at, &instruction);
	     i++) {
		const ZydisDecodedOperand *operands = instruction.operands;
		ZydisInstructionCategory category = instruction.decoded.meta.category;

		at = next_of(&walk, &instruction, &jumps);
		if (category == ZYDIS_CATEGORY_CALL) {
			note_call(&walk, &instruction);
			walk.tested = false;
		} else if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_TEST) {
			walk.tested = operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				      points(&walk, operands[0].reg.value);
		} else if (category != ZYDIS_CATEGORY_PUSH && category != ZYDIS_CATEGORY_POP) {
			write_operand(&walk, &instruction);
		}
	}
}

/* ---- what it amounts to ---- */

static bool overlaps(const struct object_member *a, const struct object_member *b)
{
	return a->offset < b->offset + (int64_t)b->width &&
	       b->offset < a->offset + (int64_t)a->width &&
	       (a->offset != b->offset || a->width != b->width);
}

/* True if the two can't be elements of an array: those have one width, and either all or none are
 * addresses of this file. */
static bool differ(const struct object_member *a, const struct object_member *b)
{
	bool wide = a->width > WORD || b->width > WORD;

	return a->offset != b->offset &&
	       ((a->kind == WRITTEN_ADDRESS) != (b->kind == WRITTEN_ADDRESS) ||
		(!wide && a->width != b->width));
}

/* True for a text: it begins with constants, or all of it is copied in pieces larger than a member,
 * and the last byte is zero. Its words may come from registers that were set before the call. */
static bool is_text(const struct object_use *use)
{
	const struct object_member *first = NULL, *last = NULL;
	int64_t written = 0;

	for (unsigned i = 0; i < use->count; i++) {
		const struct object_member *m = &use->members[i];

		first = !first || m->offset < first->offset ? m : first;
		last = !last || m->offset > last->offset ? m : last;
		written += m->width;
	}
	if (!first || first->offset || last->width != 1 || last->kind != WRITTEN_ZERO)
		return false;
	return (first->width >= WORD &&
		(first->kind == WRITTEN_CONSTANT || first->kind == WRITTEN_NUMBER)) ||
	       (first->width > WORD && first->kind == WRITTEN_OTHER &&
		written == last->offset + 1);
}

/* True if the member is part of a short string of libc++'s: a length of one byte, 22 characters and
 * a zero. Its first word of characters starts one byte after the length; no member does. */
static bool is_short_text(const struct object_use *use, const struct object_member *member)
{
	for (unsigned i = 0; i < use->count; i++) {
		const struct object_member *m = &use->members[i];
		int64_t start = m->offset - 1;

		if (m->width == WORD && start % WORD == 0 && member->width <= WORD &&
		    member->offset >= start && member->offset < start + SHORT_STRING)
			return true;
	}
	return false;
}

const char *object_use_find(const struct flow_code *code, uint64_t ret, uint64_t bytes)
{
	struct object_use use = { .code = code, .bytes = bytes };
	bool different = false, variable = false;

	walk_function(&use, ret, FLOW_RAX, 0);
	if (use.refused || is_text(&use))
		return NULL;
	for (unsigned i = 0; i < use.count; i++) {
		const struct object_member *a = &use.members[i];

		variable |= a->kind == WRITTEN_OTHER || a->kind == WRITTEN_ADDRESS;
		for (unsigned k = 0; k < i; k++) {
			if (overlaps(a, &use.members[k]) && a->kind != WRITTEN_ZERO &&
			    use.members[k].kind != WRITTEN_ZERO)
				return NULL;
			different |= differ(a, &use.members[k]) && !is_short_text(&use, a) &&
				     !is_short_text(&use, &use.members[k]);
		}
	}
	return different && variable ? "members of different kinds are written where it is new"
				     : NULL;
}
