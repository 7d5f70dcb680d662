/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.c: see epilogue.h.
 *
 * Problem. Some compilers write no .eh_frame (Free Pascal), some assembly has none, and much of
 * that code keeps no frame pointer either. A walk that follows rbp there skips some frames, which
 * are then missing from the stack.
 *
 * Approach. On each way from a call to the function's return the stack pointer moves by as much as
 * the frame is large. So the instructions behind the call are read in the order in which they would
 * run, each conditional jump both ways, and the amounts that they add to rsp are summed up: pops,
 * additions, `leave`. At `ret` the sum gives the place of the return address; a `pop rbp` on the
 * way gives that of the caller's rbp. A tail call is followed like a jump: its target returns
 * likewise. All returns that are found must agree.
 *
 * A way ends without an answer at a jump through a register or memory, at code that never returns
 * (ud2, hlt, int3, zeros), at code that was visited already, and where rsp gets an unknown value. A
 * call that never returns looks like any other: the way behind it leads into other code, and as a
 * rule to another sum, so there is no answer. The caller checks whether a return address is at the
 * place (unwind.c).
 */
#include "epilogue.h"

#include "cfi.h"

enum { STEPS = 320, PENDING = 6, GONE = 24, NOT_SAVED = INT32_MIN };
enum { RSP = 4, RBP = 5 };

/* A way through the code. */
struct epilogue_way {
	uintptr_t at;
	int32_t offset; /* rsp, from rsp or, by_rbp, from rbp as they are at the return address */
	int32_t saved;  /* place from which the caller's rbp was popped, likewise; NOT_SAVED */
	int32_t pushed; /* place to which rbp was pushed last, as the target of a tail call does */
	int32_t pushed_saved; /* `saved` at that push */
	bool by_rbp, lost_rbp; /* rbp has another value than at the return address */
	bool pushed_lost;
};

/* One instruction, with the fields that are needed here. */
struct epilogue_code {
	uintptr_t next;
	int64_t value; /* the immediate, or the distance of a jump */
	int32_t displacement;
	uint8_t opcode, rex, mod, reg, rm, base; /* of ModRM and SIB, with REX bits; mod 4: none */
	bool two;     /* the opcode is behind 0f */
	bool indexed, narrow; /* an index register; 16-bit operands */
};

struct bytes {
	const uint8_t *at, *end;
	bool bad;
};

static uint8_t byte(struct bytes *b)
{
	if (b->at >= b->end) {
		b->bad = true;
		return 0;
	}
	return *b->at++;
}

/* Reads a signed number of `n` bytes. */
static int64_t number(struct bytes *b, unsigned n)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n; i++)
		value |= (uint64_t)byte(b) << 8 * i;
	return n == 0 || n == 8 ? (int64_t)value
				: (int64_t)(value << (64 - 8 * n)) >> (64 - 8 * n);
}

static void operand(struct bytes *b, struct epilogue_code *i)
{
	uint8_t modrm = byte(b), sib;

	i->mod = modrm >> 6;
	i->reg = (uint8_t)((modrm >> 3 & 7) | (i->rex & 4 ? 8 : 0));
	i->rm = i->base = (uint8_t)((modrm & 7) | (i->rex & 1 ? 8 : 0));
	if (i->mod == 3)
		return;
	if ((modrm & 7) == 4) {
		sib = byte(b);
		i->base = (uint8_t)((sib & 7) | (i->rex & 1 ? 8 : 0));
		i->indexed = (sib >> 3 & 7) != 4 || i->rex & 2;
		if ((sib & 7) == 5 && i->mod == 0)
			number(b, 4);
	} else if ((modrm & 7) == 5 && i->mod == 0) {
		number(b, 4);
	}
	i->displacement = (int32_t)number(b, i->mod == 1 ? 1 : i->mod == 2 ? 4 : 0);
}

/* Returns the bytes of the immediate of a one-byte opcode; 16: there is no such instruction. */
static unsigned immediate_of(const struct epilogue_code *i)
{
	uint8_t op = i->opcode;
	unsigned word = i->narrow ? 2 : 4;

	if (op < 0x40)
		return (op & 7) < 4 ? 0 : (op & 7) == 4 ? 1 : (op & 7) == 5 ? word : 16;
	if ((op & 0xf0) == 0x70 || (op & 0xf8) == 0xb0 || (op >= 0xe0 && op <= 0xe7))
		return 1;
	if ((op & 0xf8) == 0xb8)
		return i->rex & 8 ? 8 : word;
	if ((op & 0xfc) == 0xa0)
		return 8;
	switch (op) {
	case 0x6a:
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xa8:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xcd:
	case 0xeb: return 1;
	case 0xc2: return 2;
	case 0xe8:
	case 0xe9: return 4;
	case 0x68:
	case 0x69:
	case 0x81:
	case 0xa9:
	case 0xc7: return word;
	case 0xf6: return i->reg % 8 < 2 ? 1 : 0;
	case 0xf7: return i->reg % 8 < 2 ? word : 0;
	case 0x60:
	case 0x61:
	case 0x9a:
	case 0xc8: /* enter */
	case 0xce:
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xea: return 16;
	default: return 0;
	}
}

static bool has_operand(uint8_t op)
{
	return (op < 0x40 && (op & 7) < 4) || op == 0x63 || op == 0x69 || op == 0x6b ||
	       (op >= 0x80 && op <= 0x8f) || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 ||
	       (op >= 0xd0 && op <= 0xd3) || (op >= 0xd8 && op <= 0xdf) || op == 0xf6 ||
	       op == 0xf7 || op >= 0xfe;
}

/* Decodes an opcode behind 0f; `vector`: behind a vector prefix. */
static void two_bytes(struct bytes *b, struct epilogue_code *i, bool vector)
{
	uint8_t op = i->opcode;

	if (!vector && (op & 0xf0) == 0x80) {
		i->value = number(b, 4);
		return;
	}
	/* syscall, ud2 and their like, rdtsc, emms, cpuid, bswap; push fs is refused */
	if (op == 0x05 || op == 0x0b || (op & 0xf8) == 0x30 || op == 0x77 || op == 0xa2 ||
	    (!vector && (op & 0xf8) == 0xc8))
		return;
	b->bad |= op == 0xa0 || op == 0xa1 || op == 0xa8 || op == 0xa9;
	operand(b, i);
	if ((op & 0xfc) == 0x70 || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
	    (op >= 0xc4 && op <= 0xc6))
		number(b, 1);
}

/* Decodes the maps 0f, 0f 38 and 0f 3a, with or without a vector prefix. */
static void other_maps(struct bytes *b, struct epilogue_code *i, unsigned map, bool vector)
{
	i->two = true;
	i->opcode = byte(b);
	if (!vector && (i->opcode == 0x38 || i->opcode == 0x3a)) {
		map = i->opcode == 0x38 ? 2 : 3;
		i->opcode = byte(b);
	}
	if (map == 1) {
		two_bytes(b, i, vector);
		return;
	}
	operand(b, i);
	if (map == 3)
		number(b, 1);
	i->opcode = 0; /* none of these writes rsp or rbp */
}

static bool decode(uintptr_t at, uintptr_t high, struct epilogue_code *i)
{
	struct bytes b = { (const uint8_t *)at, (const uint8_t *)high, false };
	uint8_t op;

	*i = (struct epilogue_code){ .mod = 4 };
	for (;;) {
		op = byte(&b);
		if (op == 0x66)
			i->narrow = true;
		else if (op != 0xf2 && op != 0xf3 && op != 0xf0 && op != 0x2e && op != 0x36 &&
			 op != 0x3e && op != 0x26 && op != 0x64 && op != 0x65)
			break;
		if (b.bad)
			return false;
	}
	if ((op & 0xf0) == 0x40) {
		i->rex = op;
		op = byte(&b);
	}
	i->narrow &= !(i->rex & 8);
	i->opcode = op;
	if (op == 0x0f) {
		other_maps(&b, i, 1, false);
	} else if (op == 0xc5) {
		byte(&b);
		other_maps(&b, i, 1, true);
	} else if (op == 0xc4 || op == 0x62) {
		unsigned map = byte(&b) & (op == 0xc4 ? 0x1f : 7);

		number(&b, op == 0xc4 ? 1 : 2);
		other_maps(&b, i, map, true);
	} else {
		unsigned bytes;

		if (has_operand(op))
			operand(&b, i);
		bytes = immediate_of(i);
		if (bytes > 8)
			return false;
		i->value = number(&b, bytes);
	}
	i->next = (uintptr_t)b.at;
	return !b.bad;
}

/* Returns the general register that an instruction writes, as a move does; 16: none, or memory. */
static unsigned written(const struct epilogue_code *i)
{
	uint8_t op = i->opcode;
	unsigned rm = i->mod == 3 ? i->rm : 16;

	if (i->two)
		return (op & 0xf0) == 0x40 || op == 0xaf || op == 0xb6 || op == 0xb7 ||
				       (op >= 0xbc && op <= 0xbf)
			       ? i->reg
			       : 16;
	if (op < 0x40)
		return (op & 7) > 3 || op >= 0x38 ? 16 : op & 2 ? i->reg : rm;
	if ((op & 0xf0) == 0xb0 || (op & 0xf8) == 0x90)
		return (op & 7) | (i->rex & 1 ? 8u : 0);
	switch (op) {
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x8b:
	case 0x8d: return i->reg;
	case 0x80:
	case 0x81:
	case 0x83: return i->reg % 8 == 7 ? 16 : rm;
	case 0x87: return i->reg == RSP || i->reg == RBP ? i->reg : rm;
	case 0x89:
	case 0xc1:
	case 0xc7:
	case 0xd1:
	case 0xd3: return rm;
	case 0xf7: return i->reg % 8 == 2 || i->reg % 8 == 3 ? rm : 16;
	case 0xff: return i->reg % 8 < 2 ? rm : 16;
	default: return 16;
	}
}

/* Handles a new value of rsp: rbp's or its own, plus a constant. False: another value. */
static bool set_rsp(struct epilogue_way *w, const struct epilogue_code *i)
{
	bool from_rbp = (i->opcode == 0x89 && i->reg == RBP) ||
			(i->opcode == 0x8b && i->mod == 3 && i->rm == RBP);

	if (!(i->rex & 8) && i->opcode != 0x8d)
		return false;
	if (i->opcode == 0x8d && (i->indexed || i->mod == 0))
		return false;
	if (from_rbp || (i->opcode == 0x8d && i->base == RBP)) {
		w->by_rbp = true;
		w->offset = from_rbp ? 0 : i->displacement;
		return !w->lost_rbp;
	}
	if (i->opcode == 0x8d && i->base == RSP)
		w->offset += i->displacement;
	else if ((i->opcode == 0x83 || i->opcode == 0x81) && i->reg % 8 == 0)
		w->offset += (int32_t)i->value;
	else if ((i->opcode == 0x83 || i->opcode == 0x81) && i->reg % 8 == 5)
		w->offset -= (int32_t)i->value;
	else
		return false;
	return true;
}

static bool pop(struct epilogue_way *w, unsigned reg)
{
	if (reg == RBP && w->offset == w->pushed) {
		w->saved = w->pushed_saved;
		w->lost_rbp = w->pushed_lost;
	} else if (reg == RBP) {
		w->saved = w->offset;
		w->lost_rbp = false;
	}
	w->offset += 8;
	return reg != RSP;
}

/* Applies an instruction to rsp and rbp. False: its effect is unknown. */
static bool apply(struct epilogue_way *w, const struct epilogue_code *i)
{
	uint8_t op = i->opcode;
	unsigned to;

	if (!i->two) {
		if ((op & 0xf8) == 0x50 || op == 0x68 || op == 0x6a || op == 0x9c ||
		    (op == 0xff && i->reg % 8 == 6)) {
			w->offset -= 8;
			if (op == 0x55 && !(i->rex & 1)) {
				w->pushed = w->offset;
				w->pushed_saved = w->saved;
				w->pushed_lost = w->lost_rbp;
			}
			return !i->narrow;
		}
		if ((op & 0xf8) == 0x58)
			return pop(w, (op & 7) | (i->rex & 1 ? 8u : 0)) && !i->narrow;
		if (op == 0x9d || op == 0x8f) {
			w->offset += 8;
			return !i->narrow;
		}
		if (op == 0xc9) { /* leave */
			w->by_rbp = true;
			w->offset = 0;
			return !w->lost_rbp && pop(w, RBP);
		}
	}
	to = written(i);
	if (to == RSP)
		return set_rsp(w, i);
	if (to == RBP) {
		w->lost_rbp = true;
		w->saved = NOT_SAVED;
	}
	return true;
}

/* Returns the row that a return implies; SI_ROW_NONE: none that is possible. */
static uint64_t row_at_return(const struct epilogue_way *w)
{
	int64_t cfa = (int64_t)w->offset + 8, saved = w->saved == NOT_SAVED ? 8 : cfa - w->saved;

	if (w->lost_rbp || cfa > SI_CFA_MAX || saved > SI_SAVED_MAX || cfa % 8 || saved % 8)
		return SI_ROW_NONE;
	if (w->by_rbp ? saved < 16 || cfa < 16 : cfa < 8 || saved < 8 || saved > cfa)
		return SI_ROW_NONE;
	return SI_ROW(w->by_rbp ? SI_ROW_BP : SI_ROW_SP, (uint64_t)cfa, (uint64_t)saved);
}

struct epilogue_search {
	struct epilogue_way pending[PENDING];
	int32_t gone[GONE]; /* targets of jumps, from pc */
	uintptr_t pc;
	unsigned pending_count, gone_count, steps;
	uint64_t row;
};

/* True if `target` is code that was not visited before; marks it as visited. */
static bool enter(struct epilogue_search *s, uintptr_t target, uintptr_t low, uintptr_t high)
{
	int64_t distance = (int64_t)(target - s->pc);

	if (target < low || target >= high || s->gone_count == GONE ||
	    distance != (int32_t)distance)
		return false;
	for (unsigned i = 0; i < s->gone_count; i++)
		if (s->gone[i] == distance)
			return false;
	s->gone[s->gone_count++] = (int32_t)distance;
	return true;
}

/* True for an instruction between functions or at the start of one: no code, a long nop, or
 * endbr64. */
static bool is_between(const struct epilogue_code *i)
{
	return i->two ? i->opcode == 0x1f || i->opcode == 0x1e || i->opcode == 0x0b
		      : i->opcode == 0xcc || i->opcode == 0xf4 || i->opcode == 0x90 ||
				(i->opcode == 0 && i->mod == 0 && !i->reg && !i->rm);
}

/* Follows a way to its end. False: two returns contradict each other. */
static bool follow(struct epilogue_search *s, struct epilogue_way *w, uintptr_t low, uintptr_t high)
{
	struct epilogue_code i;
	bool called = false;

	while (s->steps && decode(w->at, high, &i)) {
		uint8_t op = i.opcode;
		uintptr_t target = i.next + (uintptr_t)i.value;

		s->steps--;
		w->at = i.next;
		/* the call does not return */
		if (called && is_between(&i))
			return true;
		called = !i.two && (op == 0xe8 || (op == 0xff && i.reg % 8 == 2));
		if (!i.two && (op == 0xc3 || op == 0xc2)) {
			uint64_t row = row_at_return(w);
			bool same = row && (!s->row || s->row == row);

			s->row = row;
			return same;
		}
		if (!i.two && (op == 0xe9 || op == 0xeb)) {
			if (!enter(s, target, low, high))
				return true;
			w->at = target;
		} else if (i.two ? (op & 0xf0) == 0x80 && i.mod == 4 :
				   (op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3)) {
			if (s->pending_count < PENDING && enter(s, target, low, high)) {
				s->pending[s->pending_count] = *w;
				s->pending[s->pending_count++].at = target;
			}
		} else if (i.two ? op == 0x0b :
				   op == 0xf4 || op == 0xcc || op == 0xcf ||
					   (op == 0xff && (i.reg % 8 == 4 || i.reg % 8 == 5)) ||
					   (op == 0 && i.mod == 0 && !i.reg && !i.rm)) {
			return true;
		} else if (!apply(w, &i)) {
			return true;
		}
	}
	return true;
}

uint64_t si_epilogue_row(uintptr_t pc, uintptr_t low, uintptr_t high)
{
	struct epilogue_search s = { .steps = STEPS, .pending_count = 1, .pc = pc };

	s.pending[0] = (struct epilogue_way){ .at = pc, .saved = NOT_SAVED, .pushed = NOT_SAVED };
	while (s.pending_count) {
		struct epilogue_way w = s.pending[--s.pending_count];

		if (!follow(&s, &w, low, high))
			return SI_ROW_NONE;
	}
	return s.row;
}
