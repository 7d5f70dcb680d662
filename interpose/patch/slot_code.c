/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_code.c: a recipe decoder for x86-64, not a disassembler.
 *
 * Runs:      inside, in the constructor.
 * Signals:   –
 * Allocates: nothing.
 * Threads:   any; no state.
 *
 * The functions that it must understand are a dozen instructions: frame, saved registers, arguments
 * moved about, checks of them, one load of the table's address, and a call or a jump through a
 * slot. It walks the fall-through path and keeps, for each register and each word of the frame,
 * what it holds: a pc-relative variable's value, a slot of the table that such a value points to,
 * one of the function's own arguments, zero, a fixed address. Branches must go forward and stay
 * inside; they lead to error returns or around a computation, and come back or do not. Everything
 * that writes a register is known to write it. Whatever is not listed here is refused, with its
 * offset: a refusal costs a session of one program, a guess could cost the program.
 *
 * Control-flow integrity (-fsanitize=cfi-icall), which Google's builds have: before the call, the
 * slot's value must be found to be an entry of one jump table:
 *     lea table,%b; mov %slot,%t; sub %b,%t; ror $3,%t; cmp $(n - 1),%t; ja trap (or: mov %b,%t;
 *     sub %slot,%t, b being the last)
 *     lea entry,%b; cmp %b,%slot; jne trap a table of one
 *     lea entry,%b; cmp %b,offset(%head); jne trap; …; call entry the same, and called by its name
 * Any other use of a slot's value is refused: it could be a check that we do not know, and our
 * function would not pass it. Profile-guided builds may compare it with the usual function too, and
 * have that inlined: nothing of it would be seen (realloc in a build of 110). Rejected: a complete
 * decoder (Zydis is ten times the size of this library), and matching byte patterns of known builds
 * (each build of Chromium allocates registers differently).
 */
#include "slot_code.h"

#include <string.h>

enum { RAX = 0, RCX = 1, RDX = 2, RSP = 4, RBP = 5, RSI = 6, RDI = 7, REGISTERS = 16, WORDS = 32 };
enum source {
	OTHER,
	VARIABLE, /* what lies at `address` */
	SLOT,     /* what lies at `offset` in the table that the variable at `address` points to */
	ARGUMENT, /* the function's own, number `offset` */
	ZERO,
	FIXED,    /* `address` itself */
	DISTANCE, /* slot minus address `fixed`, or `reversed` */
	INDEX,    /* that, in steps of eight */
};

struct value {
	enum source source;
	bool reversed;
	uint32_t offset;
	uintptr_t address, fixed;
};

/* A comparison that the next instruction must act on. */
enum check { NO_CHECK, UP_TO, EQUAL };

struct walk {
	const uint8_t *code;
	size_t size, pos, reach;
	uintptr_t at;
	struct value reg[REGISTERS];
	struct value word[WORDS]; /* of the frame: word n is at -8 * n from the frame pointer */
	int pushed; /* 8-byte words on the stack, the frame pointer's included */
	bool framed;
	unsigned step;
	const char *reason;
	enum check check;
	struct value checked; /* the slot that passed */
	uintptr_t guard;      /* and what it is one of */
	uint32_t guard_count;
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

static bool not_known(struct walk *w)
{
	return refuse(w, "an instruction that is not in the recipe");
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
	w->reg[reg] = (struct value){ .source = OTHER };
	return true;
}

/* Registers of one byte: without a REX prefix, 4 to 7 are the second bytes of the first four. */
static bool written_byte(struct walk *w, unsigned reg, unsigned rex)
{
	return written(w, rex ? reg : reg & 3);
}

static bool is_target(const struct value *v)
{
	return v->source == SLOT || v->source == DISTANCE || v->source == INDEX;
}

/* The register's value goes into a computation. */
static bool used(struct walk *w, unsigned reg)
{
	return !is_target(&w->reg[reg]) ||
	       refuse(w, "the slot's function is compared in a way that is not known");
}

/* `o` is memory that belongs to the function: below its frame pointer. */
static bool own_frame(const struct operand *o)
{
	return !o->is_register && !o->pc_relative && !o->indexed && o->rm == RBP &&
	       o->displacement < 0;
}

static struct value *frame_word(struct walk *w, const struct operand *o)
{
	return own_frame(o) && o->displacement % 8 == 0 && -o->displacement / 8 < WORDS
		       ? &w->word[-o->displacement / 8]
		       : NULL;
}

/* The slot that a memory operand is, or nothing. */
static struct value slot_of(const struct walk *w, const struct operand *o)
{
	struct value value = { .source = OTHER };

	if (!o->is_register && !o->pc_relative && !o->indexed && w->reg[o->rm].source == VARIABLE &&
	    o->displacement >= 0) {
		value.source = SLOT;
		value.address = w->reg[o->rm].address;
		value.offset = (uint32_t)o->displacement;
	}
	return value;
}

static bool load(struct walk *w, const struct operand *o, bool wide)
{
	struct value value = { .source = OTHER };

	if (o->is_register) {
		if (wide)
			value = w->reg[o->rm];
		else if (!used(w, o->rm))
			return false;
	} else if (wide && o->pc_relative) {
		value.source = VARIABLE;
		value.address = w->at + w->pos + (uintptr_t)(intptr_t)o->displacement;
	} else if (wide && frame_word(w, o)) {
		value = *frame_word(w, o);
	} else if (wide) {
		value = slot_of(w, o);
	}
	if (!written(w, o->reg))
		return false;
	w->reg[o->reg] = value;
	return true;
}

static bool store(struct walk *w, const struct operand *o, bool wide)
{
	struct operand swapped = *o;
	struct value *word;

	if (o->is_register) { /* mov %reg,%rm */
		if (o->reg == RSP && o->rm == RBP && wide && w->step == 1 && w->pushed == 1) {
			w->framed = true;
			return true;
		}
		swapped.reg = o->rm;
		swapped.rm = o->reg;
		return load(w, &swapped, wide);
	}
	if (!own_frame(o))
		return refuse(w, "a store outside its own frame");
	word = frame_word(w, o); /* spills an argument */
	if (word)
		*word = wide ? w->reg[o->reg] : (struct value){ .source = OTHER };
	return true;
}

/* Stores of other widths and of constants. */
static bool store_other(struct walk *w, const struct operand *o)
{
	struct value *word = frame_word(w, o);

	if (!own_frame(o))
		return refuse(w, "a store outside its own frame");
	if (word)
		word->source = OTHER;
	return true;
}

static bool lea(struct walk *w, const struct operand *o, bool wide)
{
	uintptr_t address = w->at + w->pos + (uintptr_t)(intptr_t)o->displacement;

	if (o->is_register || (!o->pc_relative && !used(w, o->rm)))
		return not_known(w);
	if (!written(w, o->reg))
		return false;
	if (wide && o->pc_relative)
		w->reg[o->reg] = (struct value){ .source = FIXED, .address = address };
	return true;
}

/* add, or, and, sub, xor between registers, or from memory: `into` gets the result. `op` as in the
 * opcode's bits 5..3. */
static bool arithmetic(struct walk *w, unsigned op, unsigned into, const struct operand *o,
		       unsigned other, bool wide)
{
	struct value to = w->reg[into], from = w->reg[other];

	if (o->is_register && op == 6 && into == other) { /* xor with itself */
		if (!written(w, into))
			return false;
		w->reg[into].source = ZERO;
		return true;
	}
	if (o->is_register && wide && op == 5 &&
	    ((to.source == SLOT && from.source == FIXED) ||
	     (to.source == FIXED && from.source == SLOT))) {
		bool reversed = to.source == FIXED;
		struct value slot = reversed ? from : to;

		w->reg[into] = (struct value){ .source = DISTANCE,
					       .reversed = reversed,
					       .address = slot.address,
					       .offset = slot.offset,
					       .fixed = reversed ? to.address : from.address };
		return true;
	}
	return used(w, into) && (!o->is_register || used(w, other)) && written(w, into);
}

static bool rotate(struct walk *w, const struct operand *o, unsigned count, bool wide)
{
	bool eighth = (o->reg & 7) == 1 ? count == 3 : (o->reg & 7) == 0 && count == 61;

	if (!o->is_register)
		return refuse(w, "arithmetic on memory");
	if (w->reg[o->rm].source == DISTANCE && eighth && wide) {
		w->reg[o->rm].source = INDEX;
		return true;
	}
	return used(w, o->rm) && written(w, o->rm);
}

static void expect(struct walk *w, enum check check, const struct value *slot, uintptr_t guard,
		   uint32_t count)
{
	w->check = check;
	w->checked = *slot;
	w->checked.source = SLOT;
	w->guard = guard;
	w->guard_count = count;
}

/* cmp between a register and a register or memory. */
static bool compare(struct walk *w, const struct operand *o, bool wide)
{
	struct value a = o->is_register ? w->reg[o->rm] : slot_of(w, o), b = w->reg[o->reg];

	if (wide && a.source == SLOT && b.source == FIXED)
		expect(w, EQUAL, &a, b.address, 1);
	else if (wide && b.source == SLOT && a.source == FIXED)
		expect(w, EQUAL, &b, a.address, 1);
	else
		return used(w, o->reg) && (!o->is_register || used(w, o->rm));
	return true;
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
	if (op == 7) {
		struct value *v = &w->reg[o.rm];

		if (v->source == INDEX && rex & 8 && wide_value >= 0) {
			uint32_t last = (uint32_t)wide_value;

			expect(w, UP_TO, v, v->reversed ? v->fixed - (uintptr_t)last * 8 : v->fixed,
			       last + 1);
			return true;
		}
		return used(w, o.rm);
	}
	if (o.rm == RSP && (op == 0 || op == 5) && rex & 8 && wide_value % 8 == 0) {
		w->pushed += (op == 5 ? wide_value : -wide_value) / 8;
		return true;
	}
	return used(w, o.rm) && written(w, o.rm);
}

/* `condition` as in the opcode's low bits. A check that was begun must be finished here. */
static bool branch(struct walk *w, int32_t distance, unsigned condition)
{
	enum { IS_EQUAL = 4, NOT_EQUAL = 5, ABOVE = 7 };

	if (distance < 0 || (size_t)distance >= w->size - w->pos)
		return refuse(w, "a branch backwards or out of the function");
	if (w->pos + (size_t)distance > w->reach)
		w->reach = w->pos + (size_t)distance;
	if (w->check == EQUAL && condition == IS_EQUAL)
		return refuse(w, "the function that usually stands in the slot is inlined, and "
				 "would pass us by");
	if (w->check != NO_CHECK && condition != (w->check == UP_TO ? ABOVE : NOT_EQUAL))
		return refuse(w, "the slot's function is compared in a way that is not known");
	w->check = NO_CHECK;
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
		return take(w, &distance, 4) && branch(w, distance, op & 15);
	if (op != 0x1f && op != 0xaf && (op & 0xf0) != 0x90 && (op & 0xf0) != 0x40 &&
	    (op & 0xf6) != 0xb6)
		return not_known(w);
	if (!take_modrm(w, rex, &o))
		return false;
	if (op == 0x1f) /* nop */
		return true;
	if ((op & 0xf0) == 0x90) /* setcc */
		return o.is_register ? written_byte(w, o.rm, rex) : store_other(w, &o);
	/* imul, cmov, movzx, movsx */
	return (!o.is_register || used(w, o.rm)) && used(w, o.reg) && written(w, o.reg);
}

static bool found(struct walk *w, const struct value *slot, bool calls, struct si_recipe *recipe)
{
	static const uint8_t order[SI_ARGS] = { RDI, RSI, RDX, RCX, 8, 9 };

	if (!w->framed || (calls ? w->pushed < 1 : w->pushed != 0))
		return refuse(w, "the frame is not what a call or a tail jump needs");
	recipe->head = slot->address;
	recipe->offset = slot->offset;
	recipe->calls = calls;
	/* with the return address itself */
	recipe->reach = (uint32_t)(w->reach > w->pos ? w->reach : w->pos) + 1;
	for (unsigned i = 0; i < SI_ARGS; i++) {
		const struct value *v = &w->reg[order[i]];

		recipe->argument[i] = v->source == VARIABLE && v->address == slot->address
					      ? SI_ARG_TABLE
				      : v->source == ZERO     ? SI_ARG_ZERO
				      : v->source == ARGUMENT ? (uint8_t)(SI_ARG_OWN + v->offset)
							      : SI_ARG_UNKNOWN;
	}
	if (w->guard_count) {
		if (w->checked.address != slot->address || w->checked.offset != slot->offset)
			return refuse(w, "one slot's function is checked and another's is called");
		recipe->guard = w->guard;
		recipe->guard_count = w->guard_count;
	}
	return true;
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
		return not_known(w);
	value = o.is_register ? w->reg[o.rm] : slot_of(w, &o);
	if (value.source != SLOT)
		return refuse(w, "an indirect call or jump that is not through a slot");
	return found(w, &value, op == 2, recipe);
}

/* A direct one: only of the one function that the slot was found to hold. */
static bool dispatch_direct(struct walk *w, bool calls, struct si_recipe *recipe)
{
	int32_t distance;

	if (!take(w, &distance, 4))
		return false;
	if (w->guard_count != 1 || w->at + w->pos + (uintptr_t)(intptr_t)distance != w->guard)
		return not_known(w);
	return found(w, &w->checked, calls, recipe);
}

/* Arithmetic of one byte: what it writes is of no interest. */
static bool byte_arithmetic(struct walk *w, unsigned rex, uint8_t op)
{
	struct operand o;
	bool compares = (op & 0x38) == 0x38 || op == 0x84, into_rm = !(op & 2);

	if (!take_modrm(w, rex, &o))
		return false;
	if (compares)
		return true;
	if (into_rm && !o.is_register)
		return refuse(w, "arithmetic on memory");
	return written_byte(w, into_rm ? o.rm : o.reg, rex);
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
	if (w->check != NO_CHECK && (op & 0xf0) != 0x70 && op != 0x0f)
		return refuse(w, "the slot's function is compared in a way that is not known");
	switch (op) {
	case 0x50 ... 0x57: /* push */
		w->pushed++;
		return true;
	case 0x58 ... 0x5f: /* pop: %rbp back, or a saved register */
		w->pushed--;
		op = (op & 7) | (rex & 1 ? 8 : 0);
		return op == RBP ? (w->reg[RBP].source = OTHER, true) : written(w, op);
	case 0x70 ... 0x7f: /* jcc rel8 */
		return take(w, &near, 1) && branch(w, near, op & 15);
	case 0xb0 ... 0xb7: /* mov imm8 */
		return take(w, skipped, 1) && written_byte(w, (op & 7u) | (rex & 1 ? 8 : 0), rex);
	case 0xb8 ... 0xbf: /* mov imm */
		return take(w, skipped, rex & 8 ? 8 : 4) &&
		       written(w, (op & 7u) | (rex & 1 ? 8 : 0));
	case 0x00:
	case 0x02:
	case 0x08:
	case 0x0a:
	case 0x20:
	case 0x22:
	case 0x28:
	case 0x2a:
	case 0x30:
	case 0x32:
	case 0x84:
		return byte_arithmetic(w, rex, op);
	/* add, or, and, sub, xor: reg into r/m */
	case 0x01: case 0x09: case 0x21: case 0x29: case 0x31:
		if (!take_modrm(w, rex, &o))
			return false;
		return o.is_register ? arithmetic(w, op >> 3 & 7, o.rm, &o, o.reg, rex & 8)
				     : refuse(w, "arithmetic on memory");
	case 0x03: case 0x0b: case 0x23: case 0x2b: case 0x33: /* the same, r/m into reg */
		return take_modrm(w, rex, &o) &&
		       arithmetic(w, op >> 3 & 7, o.reg, &o, o.rm, rex & 8);
	case 0x38: case 0x3a: /* cmp of bytes */
		return byte_arithmetic(w, rex, op);
	case 0x39: case 0x3b: /* cmp */
		return take_modrm(w, rex, &o) && compare(w, &o, rex & 8);
	case 0x3c: case 0xa8: /* cmp, test of %al */
		return take(w, skipped, 1);
	case 0x63: /* movslq */
		return take_modrm(w, rex, &o) && (!o.is_register || used(w, o.rm)) &&
		       written(w, o.reg);
	case 0x85: /* test */
		return take_modrm(w, rex, &o) && used(w, o.reg) &&
		       (!o.is_register || used(w, o.rm));
	case 0x80: /* on a byte: only cmp may look at memory */
		if (!take_modrm(w, rex, &o) || !take(w, skipped, 1))
			return false;
		if ((o.reg & 7) == 7)
			return true;
		return o.is_register ? written_byte(w, o.rm, rex)
				     : refuse(w, "arithmetic on memory");
	case 0x81:
		return immediate(w, rex, 4);
	case 0x83:
		return immediate(w, rex, 1);
	case 0x88:
		return take_modrm(w, rex, &o) &&
		       (o.is_register ? written_byte(w, o.rm, rex) : store_other(w, &o));
	case 0x89:
		return take_modrm(w, rex, &o) && store(w, &o, rex & 8);
	case 0x8a:
		return take_modrm(w, rex, &o) && written_byte(w, o.reg, rex);
	case 0x8b:
		return take_modrm(w, rex, &o) && load(w, &o, rex & 8);
	case 0x8d:
		return take_modrm(w, rex, &o) && lea(w, &o, rex & 8);
	case 0x90:
		return true;
	case 0xc1: /* shifts, rotations */
		return take_modrm(w, rex, &o) && take(w, skipped, 1) &&
		       rotate(w, &o, skipped[0], rex & 8);
	case 0xc6: case 0xc7: /* mov imm into memory, or a register */
		if (!take_modrm(w, rex, &o) || !take(w, skipped, op == 0xc6 ? 1 : 4))
			return false;
		return !o.is_register ? store_other(w, &o)
		       : op == 0xc6   ? written_byte(w, o.rm, rex)
				      : written(w, o.rm);
	case 0xd1:
		return take_modrm(w, rex, &o) && rotate(w, &o, 1, rex & 8);
	case 0xe8:
		return dispatch_direct(w, true, recipe);
	case 0xe9:
		return dispatch_direct(w, false, recipe);
	case 0xf6: case 0xf7: /* test imm; not, neg */
		if (!take_modrm(w, rex, &o))
			return false;
		if (o.is_register && op == 0xf7 && !used(w, o.rm))
			return false;
		if ((o.reg & 7) == 0)
			return take(w, skipped, op == 0xf6 ? 1 : 4);
		if (o.is_register && ((o.reg & 7) == 2 || (o.reg & 7) == 3))
			return op == 0xf7 ? written(w, o.rm) : written_byte(w, o.rm, rex);
		return not_known(w);
	case 0xff:
		return dispatch(w, rex, recipe);
	case 0x0f:
		return two_byte(w, rex);
	default:
		return not_known(w);
	}
}

bool si_decode_dispatch(const uint8_t *code, size_t size, uintptr_t at, struct si_recipe *recipe,
			struct si_decode_error *error)
{
	struct walk w = { .code = code, .size = size, .at = at };
	static const uint8_t order[] = { RDI, RSI, RDX, RCX };
	struct si_recipe result = { 0 };

	for (uint32_t i = 0; i < sizeof(order); i++)
		w.reg[order[i]] = (struct value){ .source = ARGUMENT, .offset = i };
	for (; w.pos < size; w.step++) {
		size_t start = w.pos;

		if (!step(&w, &result)) {
			*error = (struct si_decode_error){ .offset = start, .reason = w.reason };
			return false;
		}
		if (result.head) {
			*recipe = result;
			return true;
		}
	}
	*error = (struct si_decode_error){ .offset = size, .reason = "it goes through no slot" };
	return false;
}

uintptr_t si_decode_jump(const uint8_t *code, uintptr_t at)
{
	int32_t distance;

	if (at % 8 || code[0] != 0xe9 || code[5] != 0xcc || code[6] != 0xcc || code[7] != 0xcc)
		return 0;
	memcpy(&distance, code + 1, 4);
	return at + 5 + (uintptr_t)(intptr_t)distance;
}

size_t si_decode_prologue(const uint8_t *code, size_t size, size_t least, size_t *distance_at)
{
	size_t at = 0;

	*distance_at = 0;
	while (at < least) {
		const uint8_t *c = code + at;
		bool rex = (c[0] & 0xf0) == 0x40, wide = rex && c[0] & 8;
		size_t length;

		if (size - at < 8)
			return 0;
		c += rex;
		if (c[0] >= 0x50 && c[0] <= 0x57) /* push */
			length = 1;
		else if ((c[0] == 0x89 || c[0] == 0x8b || c[0] == 0x31 || c[0] == 0x85) &&
			 c[1] >> 6 == 3) /* mov, xor, test of registers */
			length = 2;
		else if (wide && c[0] == 0x83 && c[1] == 0xec) /* sub imm8,%rsp */
			length = 3;
		else if (wide && c[0] == 0x81 && c[1] == 0xec)
			length = 6;
		else if (wide && c[0] == 0x8b && (c[1] & 0xc7) == 5 && !*distance_at) {
			/* mov place(%rip),%reg */
			length = 6;
			*distance_at = at + rex + 2;
		} else {
			return 0;
		}
		at += length + rex;
	}
	return at;
}
