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
 * slot. It walks the fall-through path and tracks the value of each register and each word of the
 * frame: a pc-relative variable's value, a slot of the table that such a value points to, one of
 * the function's own arguments, zero, a fixed address. Branches must go forward and stay inside;
 * they lead to error returns or around a computation. Every instruction that writes a register is
 * known to write it. Any instruction that is not listed here is refused, with its offset: a refusal
 * costs a session of one program, a guess could cost the program.
 *
 * Control-flow integrity (-fsanitize=cfi-icall), which Google's builds have: before the call, the
 * slot's value must be found to be an entry of one jump table:
 *
 * 	lea table,%b; mov %slot,%t; sub %b,%t; ror $3,%t; cmp $(n - 1),%t; ja trap
 * 	                                                  or mov %b,%t; sub %slot,%t: %b is the last
 * 	lea entry,%b; cmp %b,%slot; jne trap                                    a table of one
 * 	lea entry,%b; cmp %b,offset(%head); jne trap; …; call entry            called by its name
 *
 * Any other use of a slot's value is refused: it could be a check that we do not know, and our
 * function would not pass it. Profile-guided builds may compare it with the usual function too, and
 * have that inlined: we would not see its calls (realloc in a build of 110). Rejected: a complete
 * decoder (Zydis is ten times the size of this library), and matching byte patterns of known builds
 * (each build of Chromium allocates registers differently).
 */
#include "slot_code.h"

#include "instruction.h"

enum { WORDS = 32 };
static const uint8_t argument[SI_ARGS] = { RDI, RSI, RDX, RCX, 8, 9 };
enum slot_source {
	OTHER,
	VARIABLE, /* the word at `address` */
	SLOT,     /* the word at `offset` in the table to which the variable at `address` points */
	ARGUMENT, /* the function's own argument, number `offset` */
	ZERO,
	FIXED,    /* `address` itself */
	DISTANCE, /* slot minus address `fixed`, or `reversed` */
	INDEX,    /* the distance / 8 */
};

struct slot_value {
	enum slot_source source;
	bool reversed;
	uint32_t offset;
	uintptr_t address, fixed;
};

/* The comparison that the next instruction must act on. */
enum slot_check { NO_CHECK, UP_TO, EQUAL };

struct slot_walk {
	struct si_code_bytes code;
	size_t reach;
	uintptr_t at;
	struct slot_value reg[SI_REGISTERS];
	struct slot_value word[WORDS]; /* words of the frame: word n is at -8 * n from the frame
	                                * pointer */
	int pushed; /* 8-byte words on the stack, the frame pointer's included */
	bool framed;
	unsigned step;
	enum slot_check check;
	struct slot_value checked; /* the slot that passed a check */
	uintptr_t guard;      /* the first address that the check allows */
	uint32_t guard_count;
};

static bool refuse(struct slot_walk *w, const char *reason)
{
	w->code.reason = reason;
	return false;
}

static bool not_known(struct slot_walk *w)
{
	return refuse(w, "an instruction that is not in the recipe");
}

/* Gives a register an unknown value; false for the stack and frame pointers. */
static bool written(struct slot_walk *w, unsigned reg)
{
	if (reg == RSP || reg == RBP)
		return refuse(w, "the stack or frame pointer is changed");
	w->reg[reg] = (struct slot_value){ .source = OTHER };
	return true;
}

/* The same for one-byte registers: without REX, 4 to 7 are the second bytes of the first four. */
static bool written_byte(struct slot_walk *w, unsigned reg, unsigned rex)
{
	return written(w, rex ? reg : reg & 3);
}

/* Allows the register's value in a computation; false if it is a slot's. */
static bool used(struct slot_walk *w, unsigned reg)
{
	enum slot_source source = w->reg[reg].source;

	return (source != SLOT && source != DISTANCE && source != INDEX) ||
	       refuse(w, "the slot's function is compared in a way that is not known");
}

/* True if `o` is memory of the function's own, below its frame pointer. */
static bool own_frame(const struct si_operand *o)
{
	return !o->is_register && !o->pc_relative && !o->indexed && o->rm == RBP &&
	       o->displacement < 0;
}

static struct slot_value *frame_word(struct slot_walk *w, const struct si_operand *o)
{
	return own_frame(o) && o->displacement % 8 == 0 && -o->displacement / 8 < WORDS
		       ? &w->word[-o->displacement / 8]
		       : NULL;
}

/* Returns the slot that a memory operand reads, or nothing. */
static struct slot_value slot_of(const struct slot_walk *w, const struct si_operand *o)
{
	struct slot_value value = { .source = OTHER };

	if (!o->is_register && !o->pc_relative && !o->indexed && w->reg[o->rm].source == VARIABLE &&
	    o->displacement >= 0) {
		value.source = SLOT;
		value.address = w->reg[o->rm].address;
		value.offset = (uint32_t)o->displacement;
	}
	return value;
}

static bool load(struct slot_walk *w, const struct si_operand *o, bool wide)
{
	struct slot_value value = { .source = OTHER };

	if (o->is_register) {
		if (wide)
			value = w->reg[o->rm];
		else if (!used(w, o->rm))
			return false;
	} else if (wide && o->pc_relative) {
		value.source = VARIABLE;
		value.address = w->at + w->code.pos + (uintptr_t)(intptr_t)o->displacement;
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

static bool store(struct slot_walk *w, const struct si_operand *o, bool wide)
{
	struct si_operand swapped = *o;
	struct slot_value *word;

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
		*word = wide ? w->reg[o->reg] : (struct slot_value){ .source = OTHER };
	return true;
}

/* Handles stores of other widths and of constants. */
static bool store_other(struct slot_walk *w, const struct si_operand *o)
{
	struct slot_value *word = frame_word(w, o);

	if (!own_frame(o))
		return refuse(w, "a store outside its own frame");
	if (word)
		word->source = OTHER;
	return true;
}

static bool lea(struct slot_walk *w, const struct si_operand *o, bool wide)
{
	uintptr_t address = w->at + w->code.pos + (uintptr_t)(intptr_t)o->displacement;

	if (o->is_register || (!o->pc_relative && !used(w, o->rm)))
		return not_known(w);
	if (!written(w, o->reg))
		return false;
	if (wide && o->pc_relative)
		w->reg[o->reg] = (struct slot_value){ .source = FIXED, .address = address };
	return true;
}

/* add, or, and, sub, xor between registers, or from memory: `into` gets the result. `op` as in the
 * opcode's bits 5..3. */
static bool arithmetic(struct slot_walk *w, unsigned op, unsigned into, const struct si_operand *o,
		       unsigned other, bool wide)
{
	struct slot_value to = w->reg[into], from = w->reg[other];

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
		struct slot_value slot = reversed ? from : to;

		slot.source = DISTANCE;
		slot.reversed = reversed;
		slot.fixed = reversed ? to.address : from.address;
		w->reg[into] = slot;
		return true;
	}
	return used(w, into) && (!o->is_register || used(w, other)) && written(w, into);
}

static bool rotate(struct slot_walk *w, const struct si_operand *o, unsigned count, bool wide)
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

static void expect(struct slot_walk *w, enum slot_check check, const struct slot_value *slot,
		   uintptr_t guard, uint32_t count)
{
	w->check = check;
	w->checked = *slot;
	w->checked.source = SLOT;
	w->guard = guard;
	w->guard_count = count;
}

/* cmp between a register and a register or memory. */
static bool compare(struct slot_walk *w, const struct si_operand *o, bool wide)
{
	struct slot_value a = o->is_register ? w->reg[o->rm] : slot_of(w, o), b = w->reg[o->reg];

	if (wide && a.source == SLOT && b.source == FIXED)
		expect(w, EQUAL, &a, b.address, 1);
	else if (wide && b.source == SLOT && a.source == FIXED)
		expect(w, EQUAL, &b, a.address, 1);
	else
		return used(w, o->reg) && (!o->is_register || used(w, o->rm));
	return true;
}

/* Immediate group: add, or, and, sub, xor, cmp on a register. */
static bool immediate(struct slot_walk *w, unsigned rex, unsigned width)
{
	struct si_operand o;
	int32_t wide_value = 0;
	int8_t value = 0;
	unsigned op;

	if (!si_code_operand(&w->code, rex, &o) ||
	    !(width == 1 ? si_code_take(&w->code, &value, 1)
			 : si_code_take(&w->code, &wide_value, 4)))
		return false;
	if (width == 1)
		wide_value = value;
	op = o.reg & 7;
	if (!o.is_register || op == 2 || op == 3)
		return refuse(w, "arithmetic on memory");
	if (op == 7) {
		struct slot_value *v = &w->reg[o.rm];

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

/* Follows a branch. `condition` is the opcode's low bits. A check that was begun must end here. */
static bool branch(struct slot_walk *w, int32_t distance, unsigned condition)
{
	enum { IS_EQUAL = 4, NOT_EQUAL = 5, ABOVE = 7 };

	if (distance < 0 || (size_t)distance >= w->code.size - w->code.pos)
		return refuse(w, "a branch backwards or out of the function");
	if (w->code.pos + (size_t)distance > w->reach)
		w->reach = w->code.pos + (size_t)distance;
	if (w->check == EQUAL && condition == IS_EQUAL)
		return refuse(w, "the function that usually stands in the slot is inlined, and "
				 "would pass us by");
	if (w->check != NO_CHECK && condition != (w->check == UP_TO ? ABOVE : NOT_EQUAL))
		return refuse(w, "the slot's function is compared in a way that is not known");
	w->check = NO_CHECK;
	return true;
}

static bool two_byte(struct slot_walk *w, unsigned rex)
{
	struct si_operand o;
	uint8_t op;
	int32_t distance;

	if (!si_code_take(&w->code, &op, 1))
		return false;
	if (op >= 0x80 && op <= 0x8f) /* jcc rel32 */
		return si_code_take(&w->code, &distance, 4) && branch(w, distance, op & 15);
	if (op != 0x1f && op != 0xaf && (op & 0xf0) != 0x90 && (op & 0xf0) != 0x40 &&
	    (op & 0xf6) != 0xb6)
		return not_known(w);
	if (!si_code_operand(&w->code, rex, &o))
		return false;
	if (op == 0x1f) /* nop */
		return true;
	if ((op & 0xf0) == 0x90) /* setcc */
		return o.is_register ? written_byte(w, o.rm, rex) : store_other(w, &o);
	/* imul, cmov, movzx, movsx */
	return (!o.is_register || used(w, o.rm)) && used(w, o.reg) && written(w, o.reg);
}

static bool found(struct slot_walk *w, const struct slot_value *slot, bool calls,
		  struct si_recipe *recipe)
{
	if (!w->framed || (calls ? w->pushed < 1 : w->pushed != 0))
		return refuse(w, "the frame is not what a call or a tail jump needs");
	recipe->head = slot->address;
	recipe->offset = slot->offset;
	recipe->calls = calls;
	/* includes the return address itself */
	recipe->reach = (uint32_t)(w->reach > w->code.pos ? w->reach : w->code.pos) + 1;
	for (unsigned i = 0; i < SI_ARGS; i++) {
		const struct slot_value *v = &w->reg[argument[i]];
		bool table = v->source == VARIABLE && v->address == slot->address;

		recipe->argument[i] = table                   ? SI_ARG_TABLE
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

/* Handles call or jmp through memory or a register: the end of the walk, if it uses a slot. */
static bool dispatch(struct slot_walk *w, unsigned rex, struct si_recipe *recipe)
{
	struct si_operand o;
	struct slot_value value;

	if (!si_code_operand(&w->code, rex, &o))
		return false;
	if ((o.reg & 7) != 2 && (o.reg & 7) != 4)
		return not_known(w);
	value = o.is_register ? w->reg[o.rm] : slot_of(w, &o);
	if (value.source != SLOT)
		return refuse(w, "an indirect call or jump that is not through a slot");
	return found(w, &value, (o.reg & 7) == 2, recipe);
}

/* Handles a direct call or jmp, only of the one function that a check found in the slot. */
static bool dispatch_direct(struct slot_walk *w, bool calls, struct si_recipe *recipe)
{
	int32_t distance;

	if (!si_code_take(&w->code, &distance, 4))
		return false;
	if (w->guard_count != 1 || w->at + w->code.pos + (uintptr_t)(intptr_t)distance != w->guard)
		return not_known(w);
	return found(w, &w->checked, calls, recipe);
}

/* Handles arithmetic of one byte; its results are not tracked. */
static bool byte_arithmetic(struct slot_walk *w, unsigned rex, uint8_t op)
{
	struct si_operand o;
	bool compares = (op & 0x38) == 0x38 || op == 0x84, into_rm = !(op & 2);

	if (!si_code_operand(&w->code, rex, &o))
		return false;
	if (compares)
		return true;
	if (into_rm && !o.is_register)
		return refuse(w, "arithmetic on memory");
	return written_byte(w, into_rm ? o.rm : o.reg, rex);
}

/* add, or, and, sub, xor; cmp and test; shifts and rotations. */
static bool step_arithmetic(struct slot_walk *w, unsigned rex, uint8_t op)
{
	struct si_operand o;
	uint8_t skipped[8];

	switch (op) {
	case 0x3c: case 0xa8: /* cmp, test of %al */
		return si_code_take(&w->code, skipped, 1);
	case 0x81:
		return immediate(w, rex, 4);
	case 0x83:
		return immediate(w, rex, 1);
	case 0x00: case 0x08: case 0x20: case 0x28: case 0x30: case 0x38: /* of bytes */
	case 0x02: case 0x0a: case 0x22: case 0x2a: case 0x32: case 0x3a: case 0x84:
		return byte_arithmetic(w, rex, op);
	}
	if (!si_code_operand(&w->code, rex, &o))
		return false;
	switch (op) {
	case 0x01: case 0x09: case 0x21: case 0x29: case 0x31: /* register into operand */
		return o.is_register ? arithmetic(w, op >> 3 & 7, o.rm, &o, o.reg, rex & 8)
				     : refuse(w, "arithmetic on memory");
	case 0x03: case 0x0b: case 0x23: case 0x2b: case 0x33: /* operand into register */
		return arithmetic(w, op >> 3 & 7, o.reg, &o, o.rm, rex & 8);
	case 0x39: case 0x3b: /* cmp */
		return compare(w, &o, rex & 8);
	case 0x85: /* test */
		return used(w, o.reg) && (!o.is_register || used(w, o.rm));
	case 0x80: /* on a byte: only cmp may look at memory */
		if (!si_code_take(&w->code, skipped, 1))
			return false;
		if ((o.reg & 7) == 7)
			return true;
		return o.is_register ? written_byte(w, o.rm, rex)
				     : refuse(w, "arithmetic on memory");
	case 0xc1: /* shifts, rotations */
		return si_code_take(&w->code, skipped, 1) && rotate(w, &o, skipped[0], rex & 8);
	case 0xd1:
		return rotate(w, &o, 1, rex & 8);
	case 0xf6: case 0xf7: /* test imm; not, neg */
		if (o.is_register && op == 0xf7 && !used(w, o.rm))
			return false;
		if ((o.reg & 7) == 0)
			return si_code_take(&w->code, skipped, op == 0xf6 ? 1 : 4);
		if (o.is_register && ((o.reg & 7) == 2 || (o.reg & 7) == 3))
			return op == 0xf7 ? written(w, o.rm) : written_byte(w, o.rm, rex);
		return not_known(w);
	default:
		return not_known(w);
	}
}

/* Handles mov, movslq and lea; other instructions are arithmetic or unknown. */
static bool step_move(struct slot_walk *w, unsigned rex, uint8_t op)
{
	struct si_operand o;
	uint8_t skipped[8];

	switch (op) {
	case 0xb0 ... 0xb7: /* mov imm8 */
		return si_code_take(&w->code, skipped, 1) &&
		       written_byte(w, (op & 7u) | (rex & 1 ? 8 : 0), rex);
	case 0xb8 ... 0xbf: /* mov imm */
		return si_code_take(&w->code, skipped, rex & 8 ? 8 : 4) &&
		       written(w, (op & 7u) | (rex & 1 ? 8 : 0));
	case 0x63: case 0x88: case 0x89: case 0x8a: case 0x8b: case 0x8d: case 0xc6: case 0xc7:
		break;
	default:
		return step_arithmetic(w, rex, op);
	}
	if (!si_code_operand(&w->code, rex, &o))
		return false;
	switch (op) {
	case 0x63: /* movslq */
		return (!o.is_register || used(w, o.rm)) && written(w, o.reg);
	case 0x88:
		return o.is_register ? written_byte(w, o.rm, rex) : store_other(w, &o);
	case 0x89:
		return store(w, &o, rex & 8);
	case 0x8a:
		return written_byte(w, o.reg, rex);
	case 0x8b:
		return load(w, &o, rex & 8);
	case 0x8d:
		return lea(w, &o, rex & 8);
	default: /* mov imm into memory, or a register */
		if (!si_code_take(&w->code, skipped, op == 0xc6 ? 1 : 4))
			return false;
		return !o.is_register ? store_other(w, &o)
		       : op == 0xc6   ? written_byte(w, o.rm, rex)
				      : written(w, o.rm);
	}
}

/* Handles the stack, branches, calls and jumps; other instructions move or compute. */
static bool step_control(struct slot_walk *w, unsigned rex, uint8_t op, struct si_recipe *recipe)
{
	int8_t near;

	switch (op) {
	case 0x0f:
		return two_byte(w, rex);
	case 0x50 ... 0x57: /* push */
		w->pushed++;
		return true;
	case 0x58 ... 0x5f: /* pop: %rbp back, or a saved register */
		w->pushed--;
		op = (op & 7) | (rex & 1 ? 8 : 0);
		return op == RBP ? (w->reg[RBP].source = OTHER, true) : written(w, op);
	case 0x70 ... 0x7f: /* jcc rel8 */
		return si_code_take(&w->code, &near, 1) && branch(w, near, op & 15);
	case 0x90:
		return true;
	case 0xe8:
		return dispatch_direct(w, true, recipe);
	case 0xe9:
		return dispatch_direct(w, false, recipe);
	case 0xff:
		return dispatch(w, rex, recipe);
	default:
		return step_move(w, rex, op);
	}
}

/* Decodes one instruction. True with recipe->head set: the walk has ended. */
static bool step(struct slot_walk *w, struct si_recipe *recipe)
{
	const struct si_code_bytes *code = &w->code;
	uint8_t op;
	unsigned rex = 0;
	bool padded = false;

	do {
		if (!si_code_take(&w->code, &op, 1))
			return false;
		padded |= op == 0x66 || op == 0x2e;
	} while (op == 0x66 || op == 0x2e);
	if (padded && op != 0x90 &&
	    !(op == 0x0f && code->pos < code->size && code->bytes[code->pos] == 0x1f))
		return refuse(w, "a prefix that is not in the recipe");
	if ((op & 0xf0) == 0x40) {
		rex = op;
		if (!si_code_take(&w->code, &op, 1))
			return false;
	}
	if (w->step == 0 && op != 0x55)
		return refuse(w, "it does not begin with push %rbp");
	if (w->step == 1 && op != 0x89 && op != 0x8b)
		return refuse(w, "it does not set up a frame");
	if (w->check != NO_CHECK && (op & 0xf0) != 0x70 && op != 0x0f)
		return refuse(w, "the slot's function is compared in a way that is not known");
	return step_control(w, rex, op, recipe);
}

bool si_decode_dispatch(const uint8_t *code, size_t size, uintptr_t at, struct si_recipe *recipe,
			struct si_decode_error *error)
{
	struct slot_walk w = { .code = { .bytes = code, .size = size }, .at = at };
	struct si_recipe result = { 0 };

	for (uint32_t i = 0; i < 4; i++)
		w.reg[argument[i]] = (struct slot_value){ .source = ARGUMENT, .offset = i };
	for (; w.code.pos < size; w.step++) {
		size_t start = w.code.pos;

		if (!step(&w, &result)) {
			error->offset = start;
			error->reason = w.code.reason;
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
