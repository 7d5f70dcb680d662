/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.c: a recipe decoder for x86-64, not a disassembler.
 *
 * Runs:      inside, in the constructor.
 * Signals:   –
 * Allocates: nothing.
 * Threads:   any; no state.
 *
 * The functions that it must understand are a dozen instructions: frame, saved registers, arguments moved about, checks of them,
 * one load of the table's address, and a call or a jump through a slot. It walks the fall-through path and keeps, for each
 * register, whether it holds the value of a pc-relative variable, or of a slot of the table that such a value points to. Branches
 * must go forward and stay inside; they lead to error returns or around a computation, and come back or do not. Everything that
 * writes a register is known to write it. Whatever is not listed here is refused, with its offset: a refusal costs a
 * session of one program, a guess could cost the program.
 * Rejected: a complete decoder (Zydis is ten times the size of this library), and matching byte patterns of known builds (each
 * build of Chromium allocates registers differently).
 */
#include "decode.h"

#include <string.h>

enum { RSP = 4, RBP = 5, REGISTERS = 16 };
enum source { OTHER, VARIABLE, SLOT };

struct value {
	enum source source;
	uintptr_t variable;
	uint32_t offset;
};

struct walk {
	const uint8_t *code;
	size_t size, pos;
	uintptr_t at;
	struct value reg[REGISTERS];
	int pushed; /* 8-byte words on the stack, the frame pointer's included */
	bool framed;
	unsigned step;
	const char *reason;
};

/* One instruction's ModRM operand. */
struct operand {
	unsigned mod, reg, rm; /* with REX bits */
	bool is_register, pc_relative, indexed;
	int32_t displacement;
};

static bool refuse(struct walk *w, const char *reason)
{
	w->reason = reason;
	return false;
}

static bool take(struct walk *w, void *out, size_t n)
{
	if (n > w->size - w->pos)
		return refuse(w, "the function ends inside an instruction");
	memcpy(out, w->code + w->pos, n);
	w->pos += n;
	return true;
}

static bool take_modrm(struct walk *w, unsigned rex, struct operand *o)
{
	uint8_t modrm, sib = 0;
	int8_t disp8 = 0;

	memset(o, 0, sizeof(*o));
	if (!take(w, &modrm, 1))
		return false;
	o->mod = modrm >> 6;
	o->reg = (modrm >> 3 & 7) | (rex & 4 ? 8 : 0);
	o->rm = modrm & 7;
	if (o->mod == 3) {
		o->rm |= rex & 1 ? 8 : 0;
		o->is_register = true;
		return true;
	}
	if (o->rm == 4) {
		if (!take(w, &sib, 1))
			return false;
		o->rm = sib & 7;
		o->indexed = (sib >> 3 & 7) != 4 || rex & 2;
		if (o->rm == 5 && o->mod == 0)
			return refuse(w, "an absolute address");
	} else if (o->rm == 5 && o->mod == 0) {
		o->pc_relative = true;
	}
	o->rm |= rex & 1 ? 8 : 0;
	if (o->mod == 1) {
		if (!take(w, &disp8, 1))
			return false;
		o->displacement = disp8;
	} else if (o->mod == 2 || o->pc_relative) {
		return take(w, &o->displacement, 4);
	}
	return true;
}

/* A register gets a value that is none of our business. The stack and frame pointers may not. */
static bool written(struct walk *w, unsigned reg)
{
	if (reg == RSP || reg == RBP)
		return refuse(w, "the stack or frame pointer is changed");
	w->reg[reg].source = OTHER;
	return true;
}

static bool load(struct walk *w, const struct operand *o, bool wide)
{
	struct value value = { .source = OTHER };

	if (o->is_register) {
		value = w->reg[o->rm];
		value.source = wide ? value.source : OTHER;
	} else if (wide && o->pc_relative) {
		value.source = VARIABLE;
		value.variable = w->at + w->pos + (uintptr_t)(intptr_t)o->displacement;
	} else if (wide && !o->indexed && w->reg[o->rm].source == VARIABLE && o->displacement >= 0) {
		value = w->reg[o->rm];
		value.source = SLOT;
		value.offset = (uint32_t)o->displacement;
	}
	if (!written(w, o->reg))
		return false;
	w->reg[o->reg] = value;
	return true;
}

static bool store(struct walk *w, const struct operand *o, bool wide)
{
	struct operand swapped = *o;

	if (o->is_register) { /* mov %reg,%rm */
		if (o->reg == RSP && o->rm == RBP && wide && w->step == 1 && w->pushed == 1) {
			w->framed = true;
			return true;
		}
		swapped.reg = o->rm;
		swapped.rm = o->reg;
		return load(w, &swapped, wide);
	}
	if (o->pc_relative || o->indexed || o->rm != RBP || o->displacement >= 0)
		return refuse(w, "a store outside its own frame");
	return true; /* spills an argument */
}

/* Immediate group: add, or, and, sub, xor, cmp on a register. */
static bool immediate(struct walk *w, unsigned rex, unsigned width)
{
	struct operand o;
	int32_t wide_value = 0;
	int8_t value = 0;
	unsigned op;

	if (!take_modrm(w, rex, &o) || !(width == 1 ? take(w, &value, 1) : take(w, &wide_value, 4)))
		return false;
	if (width == 1)
		wide_value = value;
	op = o.reg & 7;
	if (!o.is_register || op == 2 || op == 3)
		return refuse(w, "arithmetic on memory");
	if (op == 7)
		return true;
	if (o.rm == RSP && (op == 0 || op == 5) && rex & 8 && wide_value % 8 == 0) {
		w->pushed += (op == 5 ? wide_value : -wide_value) / 8;
		return true;
	}
	return written(w, o.rm);
}

static bool branch(struct walk *w, int32_t distance)
{
	if (distance < 0 || (size_t)distance >= w->size - w->pos)
		return refuse(w, "a branch backwards or out of the function");
	return true;
}

static bool two_byte(struct walk *w, unsigned rex)
{
	struct operand o;
	uint8_t op;
	int32_t distance;

	if (!take(w, &op, 1))
		return false;
	if (op >= 0x80 && op <= 0x8f) /* jcc rel32 */
		return take(w, &distance, 4) && branch(w, distance);
	if (op != 0x1f && op != 0xaf && (op & 0xf0) != 0x90)
		return refuse(w, "an instruction that is not in the recipe");
	if (!take_modrm(w, rex, &o))
		return false;
	if (op == 0x1f) /* nop */
		return true;
	if (op == 0xaf) /* imul */
		return written(w, o.reg);
	if (!o.is_register) /* setcc */
		return refuse(w, "a store outside its own frame");
	return written(w, rex ? o.rm : o.rm & 3);
}

/* call or jmp through memory or a register: the end, if it is what we look for. */
static bool dispatch(struct walk *w, unsigned rex, struct si_recipe *recipe)
{
	struct operand o;
	struct value value;
	unsigned op;

	if (!take_modrm(w, rex, &o))
		return false;
	op = o.reg & 7;
	if (op != 2 && op != 4)
		return refuse(w, "an instruction that is not in the recipe");
	if (o.pc_relative || o.indexed)
		return refuse(w, "an indirect call or jump that is not through a slot");
	value = w->reg[o.rm];
	if (!o.is_register) {
		if (value.source != VARIABLE || o.displacement < 0)
			return refuse(w, "an indirect call or jump that is not through a slot");
		value.source = SLOT;
		value.offset = (uint32_t)o.displacement;
	}
	if (value.source != SLOT)
		return refuse(w, "an indirect call or jump that is not through a slot");
	if (!w->framed || (op == 2 ? w->pushed < 1 : w->pushed != 0))
		return refuse(w, "the frame is not what a call or a tail jump needs");
	recipe->head = value.variable;
	recipe->offset = value.offset;
	recipe->calls = op == 2;
	return true;
}

/* One instruction. True with recipe->head set: done. */
static bool step(struct walk *w, struct si_recipe *recipe)
{
	struct operand o;
	uint8_t op, skipped[8];
	int8_t near;
	unsigned rex = 0;
	bool padded = false;

	do {
		if (!take(w, &op, 1))
			return false;
		padded |= op == 0x66 || op == 0x2e;
	} while (op == 0x66 || op == 0x2e);
	if (padded && !(op == 0x0f && w->pos < w->size && w->code[w->pos] == 0x1f) && op != 0x90)
		return refuse(w, "a prefix that is not in the recipe");
	if ((op & 0xf0) == 0x40) {
		rex = op;
		if (!take(w, &op, 1))
			return false;
	}
	if (w->step == 0 && op != 0x55)
		return refuse(w, "it does not begin with push %rbp");
	if (w->step == 1 && op != 0x89 && op != 0x8b)
		return refuse(w, "it does not set up a frame");
	switch (op) {
	case 0x50 ... 0x57: /* push */
		w->pushed++;
		return true;
	case 0x58 ... 0x5f: /* pop: %rbp back, or a saved register */
		w->pushed--;
		op = (op & 7) | (rex & 1 ? 8 : 0);
		return op == RBP ? (w->reg[RBP].source = OTHER, true) : written(w, op);
	case 0x70 ... 0x7f: /* jcc rel8 */
		return take(w, &near, 1) && branch(w, near);
	case 0xb8 ... 0xbf: /* mov imm */
		return take(w, skipped, rex & 8 ? 8 : 4) && written(w, (op & 7u) | (rex & 1 ? 8 : 0));
	case 0x01: case 0x09: case 0x21: case 0x29: case 0x31: /* add, or, and, sub, xor: reg into r/m */
		if (!take_modrm(w, rex, &o))
			return false;
		return o.is_register ? written(w, o.rm) : refuse(w, "arithmetic on memory");
	case 0x03: case 0x0b: case 0x23: case 0x2b: case 0x33: /* the same, r/m into reg */
		return take_modrm(w, rex, &o) && written(w, o.reg);
	case 0x38 ... 0x3b: case 0x84: case 0x85: /* cmp, test */
		return take_modrm(w, rex, &o);
	case 0x80: /* on a byte: only cmp, which may look at memory */
		if (!take_modrm(w, rex, &o) || !take(w, skipped, 1))
			return false;
		return (o.reg & 7) == 7 || refuse(w, "arithmetic on memory");
	case 0x81:
		return immediate(w, rex, 4);
	case 0x83:
		return immediate(w, rex, 1);
	case 0x89:
		return take_modrm(w, rex, &o) && store(w, &o, rex & 8);
	case 0x8b:
		return take_modrm(w, rex, &o) && load(w, &o, rex & 8);
	case 0x8d: /* lea */
		return take_modrm(w, rex, &o) && written(w, o.reg);
	case 0x90:
		return true;
	case 0xc1: /* shifts */
		return take_modrm(w, rex, &o) && take(w, skipped, 1) && (o.is_register ? written(w, o.rm) : refuse(w, "arithmetic on memory"));
	case 0xd1:
		return take_modrm(w, rex, &o) && (o.is_register ? written(w, o.rm) : refuse(w, "arithmetic on memory"));
	case 0xf6: case 0xf7: /* test imm; not, neg */
		if (!take_modrm(w, rex, &o))
			return false;
		if ((o.reg & 7) == 0)
			return take(w, skipped, op == 0xf6 ? 1 : 4);
		if (op == 0xf7 && o.is_register && ((o.reg & 7) == 2 || (o.reg & 7) == 3))
			return written(w, o.rm);
		return refuse(w, "an instruction that is not in the recipe");
	case 0xff:
		return dispatch(w, rex, recipe);
	case 0x0f:
		return two_byte(w, rex);
	default:
		return refuse(w, "an instruction that is not in the recipe");
	}
}

bool si_decode_dispatch(const uint8_t *code, size_t size, uintptr_t at, struct si_recipe *recipe, struct si_decode_error *error)
{
	struct walk w = { .code = code, .size = size, .at = at };
	struct si_recipe found = { 0 };

	for (; w.pos < size; w.step++) {
		size_t start = w.pos;

		if (!step(&w, &found)) {
			*error = (struct si_decode_error){ .offset = start, .reason = w.reason };
			return false;
		}
		if (found.head) {
			*recipe = found;
			return true;
		}
	}
	*error = (struct si_decode_error){ .offset = size, .reason = "it goes through no slot" };
	return false;
}
