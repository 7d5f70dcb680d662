/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.c: computes rows from .eh_frame.
 *
 * Problem. At -O2 rbp is a register like any other, so only the compiler knows a frame's size. It
 * describes the size in .eh_frame, as a program for a small machine that builds a table (address →
 * how to find each register of the caller).
 *
 * Approach. .eh_frame_hdr's sorted table leads to the function's entry (FDE), whose common part
 * (CIE) and own instructions are run up to the address, following three of the machine's columns
 * only: the frame's address (CFA), rbp, and the return address. All others are skipped over, as no
 * function finds its own frame through them at a call: gcc's functions that align their stack do
 * for a few instructions at their begin (r10), and the lazy binding of libc (rbx); those are STOP.
 *
 * A call's return address may be the next function's first (a call that does not return comes
 * last), so the byte before it is looked up.
 *
 * Facts. Every module in Debian 12 that was looked at (the libraries of node, clang 14, LibreOffice
 * and Chromium) has the table in the one form that ld and lld write, relative to itself and of 32
 * bits, in the same segment as .eh_frame; anything else is BARE. Expressions are rare: the PLT
 * (never a caller), the signal trampoline, and stack realignment; the last two have one form each.
 *
 * Bytes are untrusted: every read is checked against the segment, no number is assumed to be valid,
 * lengths bound all loops.
 */
#include "cfi.h"

enum { RBP = 6, RSP = 7, RA = 16, REMEMBERED = 8 };

enum {
	/* encodings of pointers */
	ABSOLUTE = 0x00,
	PCREL_ABSOLUTE = 0x10,
	PCREL_SDATA4 = 0x1b,
	DATAREL_SDATA4 = 0x3b,
	PCREL_SDATA8 = 0x1c,
	UDATA4 = 0x03,
	OMITTED = 0xff,
};

/* ---- bytes ---- */

struct cfi_cursor {
	uintptr_t at, end;
	bool bad;
};

static uint64_t take(struct cfi_cursor *c, unsigned bytes)
{
	uint64_t value = 0;

	if (c->end - c->at < bytes) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)((const uint8_t *)c->at)[i] << 8 * i;
	c->at += bytes;
	return value;
}

static uint64_t leb(struct cfi_cursor *c, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = take(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && byte & 0x40)
		value |= ~UINT64_C(0) << shift;
	return value;
}

static uint64_t uleb(struct cfi_cursor *c)
{
	return leb(c, false);
}

static int64_t sleb(struct cfi_cursor *c)
{
	return (int64_t)leb(c, true);
}

static void skip(struct cfi_cursor *c, uint64_t bytes)
{
	if (c->end - c->at < bytes) {
		c->bad = true;
		c->at = c->end;
	} else {
		c->at += bytes;
	}
}

/* Reads a code address, or (`plain`) a length in the same encoding. */
static uintptr_t pointer(struct cfi_cursor *c, uint8_t encoding, bool plain)
{
	uintptr_t from = c->at, value;

	switch (encoding) {
	case ABSOLUTE:
	case PCREL_ABSOLUTE:
	case PCREL_SDATA8:
		value = take(c, 8);
		break;
	case PCREL_SDATA4:
		value = (uintptr_t)(int64_t)(int32_t)take(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	return value + (encoding == ABSOLUTE || plain ? 0 : from);
}

/* ---- the machine ---- */

enum how {
	SAME = 0,  /* unchanged */
	AT_CFA,    /* stored at CFA + offset */
	AT_REG,    /* an expression: stored at register + offset */
	IS_REG,    /* CFA only: register + offset */
	DEREF_REG, /* CFA only, an expression: the word stored at register + offset */
	UNDEFINED,
	OTHER,
};

/* A column of the machine. It is small, as the machine lies on the allocating thread's stack. */
struct cfi_column {
	int32_t offset;
	uint8_t how, reg;
};

struct cfi_state {
	struct cfi_column cfa, rbp, ra;
};

struct machine {
	struct cfi_state now, initial, remembered[REMEMBERED];
	unsigned depth;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool signal;
};
#define NEW_MACHINE \
	{ .now.cfa.how = OTHER, .now.ra.how = OTHER, .encoding = ABSOLUTE }

static struct cfi_column *column(struct machine *m, uint64_t reg)
{
	return reg == RBP ? &m->now.rbp : reg == RA ? &m->now.ra : NULL;
}

/* Returns the offset, or a number that no row has if it does not fit. */
static int32_t fit_offset(int64_t offset)
{
	return offset >= INT32_MIN && offset <= INT32_MAX ? (int32_t)offset : INT32_MAX;
}

static uint8_t fit_register(uint64_t reg)
{
	return reg < UINT8_MAX ? (uint8_t)reg : UINT8_MAX;
}

static void set(struct machine *m, uint64_t reg, enum how how, int64_t offset)
{
	struct cfi_column *at = column(m, reg);

	if (at)
		*at = (struct cfi_column){ fit_offset(offset), (uint8_t)how, 0 };
}

/* Reads one of the two kinds of expression that are understood: register + offset, or the word
 * stored there. */
static struct cfi_column expression(struct cfi_cursor *c, bool cfa)
{
	uint64_t length = uleb(c);
	struct cfi_cursor e = { c->at, c->at, c->bad };
	struct cfi_column out = { 0, OTHER, 0 };
	uint64_t op;
	int64_t offset;

	skip(c, length);
	if (c->bad)
		return out;
	e.end = c->at;
	op = take(&e, 1);
	if (op < 0x70 || op > 0x8f) /* DW_OP_breg0 … 31 */
		return out;
	offset = sleb(&e);
	if (e.bad || offset > INT32_MAX || offset < INT32_MIN)
		return out;
	out.reg = (uint8_t)(op - 0x70);
	out.offset = (int32_t)offset;
	if (!cfa && e.at == e.end)
		out.how = AT_REG;
	else if (cfa && e.end - e.at == 1 && take(&e, 1) == 0x06) /* DW_OP_deref */
		out.how = DEREF_REG;
	return out;
}

static void restore(struct machine *m, uint64_t reg)
{
	if (reg == RBP)
		m->now.rbp = m->initial.rbp;
	else if (reg == RA)
		m->now.ra = m->initial.ra;
}

static int64_t scaled(const struct machine *m, uint64_t factor)
{
	return (int64_t)(factor * (uint64_t)m->data_align);
}

/* Runs an instruction that says where the frame ends; false: it is another one. */
static bool cfa_instruction(struct machine *m, struct cfi_cursor *c, unsigned op)
{
	switch (op) {
	case 0x0c: /* def_cfa */
		m->now.cfa.how = IS_REG;
		m->now.cfa.reg = fit_register(uleb(c));
		m->now.cfa.offset = fit_offset((int64_t)uleb(c));
		return true;
	case 0x0d: /* def_cfa_register */
		m->now.cfa.reg = fit_register(uleb(c));
		return true;
	case 0x0e: /* def_cfa_offset */
		m->now.cfa.offset = fit_offset((int64_t)uleb(c));
		return true;
	case 0x0f: /* def_cfa_expression */
		m->now.cfa = expression(c, true);
		return true;
	case 0x12: /* def_cfa_sf */
		m->now.cfa.how = IS_REG;
		m->now.cfa.reg = fit_register(uleb(c));
		m->now.cfa.offset = fit_offset(scaled(m, (uint64_t)sleb(c)));
		return true;
	case 0x13: /* def_cfa_offset_sf */
		m->now.cfa.offset = fit_offset(scaled(m, (uint64_t)sleb(c)));
		return true;
	default:
		return false;
	}
}

/* Runs any other instruction that does not advance the location; false: it is unknown, so the
 * following ones cannot be read. */
static bool other_instruction(struct machine *m, struct cfi_cursor *c, unsigned op)
{
	uint64_t reg;

	switch (op) {
	case 0x00: /* nop */
		return true;
	case 0x05: /* offset_extended */
		reg = uleb(c);
		set(m, reg, AT_CFA, scaled(m, uleb(c)));
		return true;
	case 0x06: /* restore_extended */
		restore(m, uleb(c));
		return true;
	case 0x07: /* undefined */
		set(m, uleb(c), UNDEFINED, 0);
		return true;
	case 0x08: /* same_value */
		set(m, uleb(c), SAME, 0);
		return true;
	case 0x09: /* register */
	case 0x14: /* val_offset */
		reg = uleb(c);
		uleb(c);
		set(m, reg, OTHER, 0);
		return true;
	case 0x15: /* val_offset_sf */
		reg = uleb(c);
		sleb(c);
		set(m, reg, OTHER, 0);
		return true;
	case 0x0a: /* remember_state */
		if (m->depth == REMEMBERED)
			return false;
		m->remembered[m->depth++] = m->now;
		return true;
	case 0x0b: /* restore_state */
		if (m->depth == 0)
			return false;
		m->now = m->remembered[--m->depth];
		return true;
	case 0x10: { /* expression */
		struct cfi_column *at = column(m, reg = uleb(c)), found = expression(c, false);

		if (at)
			*at = found;
		return true;
	}
	case 0x11: /* offset_extended_sf */
		reg = uleb(c);
		set(m, reg, AT_CFA, scaled(m, (uint64_t)sleb(c)));
		return true;
	case 0x16: /* val_expression */
		reg = uleb(c);
		expression(c, false);
		set(m, reg, OTHER, 0);
		return true;
	case 0x2e: /* for throwing, not for frames */
		uleb(c);
		return true;
	case 0x2f: /* GNU_negative_offset_extended */
		reg = uleb(c);
		set(m, reg, AT_CFA, -scaled(m, uleb(c) & INT32_MAX));
		return true;
	default:
		return cfa_instruction(m, c, op);
	}
}

/* Runs instructions up to the first that is about addresses beyond `target`. */
static bool run(struct machine *m, struct cfi_cursor *c, uintptr_t location, uintptr_t target)
{
	while (c->at < c->end) {
		unsigned op = (unsigned)take(c, 1), low = op & 0x3f;

		switch (op >> 6) {
		case 1: /* advance_loc */
			location += low * m->code_align;
			break;
		case 2: /* offset */
			set(m, low, AT_CFA, scaled(m, uleb(c)));
			break;
		case 3:
			restore(m, low);
			break;
		default:
			if (op == 0x01) /* set_loc */
				location = pointer(c, m->encoding, false);
			else if (op >= 0x02 && op <= 0x04) /* advance_loc1, 2, 4 */
				location += take(c, 1u << (op - 2)) * m->code_align;
			else if (!other_instruction(m, c, op))
				return false;
		}
		if (c->bad)
			return false;
		if (location > target)
			return true;
	}
	return !c->bad;
}

/* ---- entries ---- */

/* Returns the bytes of the CIE or FDE at `at`, behind its length. */
static struct cfi_cursor entry(const struct si_cfi_view *v, uintptr_t at)
{
	struct cfi_cursor c = { at, v->high, at < v->low || at > v->high };
	uint64_t length;

	if (c.bad)
		c.at = c.end;
	length = take(&c, 4);
	if (length == 0 || length >= 0xfffffff0 || c.end - c.at < length || c.bad)
		return (struct cfi_cursor){ c.end, c.end, true };
	c.end = c.at + length;
	return c;
}

/* Reads the CIE at `at`, and runs its instructions. */
static bool common_part(struct machine *m, const struct si_cfi_view *v, uintptr_t at,
			bool *augmented)
{
	struct cfi_cursor c = entry(v, at);
	uint64_t version, letter, bytes;
	char letters[8];
	unsigned n = 0;
	uintptr_t instructions;

	if (take(&c, 4) != 0)
		return false;
	version = take(&c, 1);
	while ((letter = take(&c, 1)) != 0)
		if (n < sizeof(letters))
			letters[n++] = (char)letter;
		else
			return false;
	m->code_align = uleb(&c);
	m->data_align = sleb(&c);
	if ((version == 1 ? take(&c, 1) : uleb(&c)) != RA || (version != 1 && version != 3) ||
	    c.bad)
		return false;
	*augmented = n > 0;
	if (n > 0) {
		if (letters[0] != 'z')
			return false;
		bytes = uleb(&c);
		if (c.bad || c.end - c.at < bytes)
			return false;
		instructions = c.at + bytes;
		for (unsigned i = 1; i < n; i++) {
			uint64_t encoding;

			switch (letters[i]) {
			case 'R':
				m->encoding = (uint8_t)take(&c, 1);
				break;
			case 'L':
				take(&c, 1);
				break;
			case 'P': /* the personality routine: in one of two sizes */
				encoding = take(&c, 1);
				if (encoding == OMITTED)
					break;
				skip(&c, (encoding & 0x07) == (PCREL_SDATA4 & 0x07) ? 4 : 8);
				if ((encoding & 0x07) != 0 && (encoding & 0x07) < 3)
					return false;
				break;
			case 'S':
				m->signal = true;
				break;
			default:
				return false;
			}
		}
		if (c.bad)
			return false;
		c.at = instructions;
	}
	if (c.end - c.at > SI_CFI_BYTES)
		return false;
	return run(m, &c, 0, UINTPTR_MAX);
}

/* Returns the sorted table: pairs of a function's first address and its entry, both relative to
 * v->table. NULL and a count of 0: there is none that we can read. */
static const int32_t *table_of(const struct si_cfi_view *v, uint64_t *count)
{
	struct cfi_cursor c = { v->table, v->high, v->table < v->low || v->table > v->high };
	uint64_t head;

	*count = 0;
	if (!v->table || c.bad)
		return NULL;
	head = take(&c, 4);
	take(&c, 4); /* where .eh_frame is */
	*count = take(&c, 4);
	if (!c.bad &&
	    head == (1 | PCREL_SDATA4 << 8 | UDATA4 << 16 | (uint64_t)DATAREL_SDATA4 << 24) &&
	    v->table % 4 == 0 && *count <= (c.end - c.at) / 8)
		return (const int32_t *)c.at;
	*count = 0;
	return NULL;
}

/* Returns the entry of the greatest first address that is not above `target`, or 0. */
static uintptr_t search(const struct si_cfi_view *v, uintptr_t target)
{
	uint64_t low = 0, high;
	const int32_t *pairs = table_of(v, &high);

	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if (v->table + (uintptr_t)(intptr_t)pairs[2 * middle] <= target)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? 0 : v->table + (uintptr_t)(intptr_t)pairs[2 * (low - 1) + 1];
}

/* Packs the three columns into a row. */
static uint64_t pack(const struct machine *m)
{
	const struct cfi_column *cfa = &m->now.cfa, *rbp = &m->now.rbp, *ra = &m->now.ra;
	uint64_t saved = 8;
	bool sp = cfa->reg == RSP;

	if (ra->how == UNDEFINED)
		return SI_ROW(SI_ROW_END, 0, 0);
	if (m->signal) {
		/* offsets in ucontext_t, as the kernel lays it out */
		bool known = cfa->how == DEREF_REG && sp && cfa->offset == 160 &&
			     ra->how == AT_REG && ra->reg == RSP && ra->offset == 168 &&
			     rbp->how == AT_REG && rbp->reg == RSP && rbp->offset == 120;

		return known ? SI_ROW(SI_ROW_SIGNAL, 0, 0) : SI_ROW(SI_ROW_STOP, 0, 0);
	}
	if (ra->how != AT_CFA || ra->offset != -8 || (!sp && cfa->reg != RBP))
		return SI_ROW(SI_ROW_STOP, 0, 0);
	if (cfa->how == DEREF_REG && !sp && rbp->how == AT_REG && rbp->reg == RBP &&
	    rbp->offset == 0)
		return SI_ROW(SI_ROW_REALIGN, (uint32_t)cfa->offset, 0);
	if (cfa->how != IS_REG || cfa->offset < 8 || cfa->offset > SI_CFA_MAX || cfa->offset % 8)
		return SI_ROW(SI_ROW_STOP, 0, 0);
	if (rbp->how == AT_CFA) {
		if (rbp->offset > -16 || rbp->offset < -SI_SAVED_MAX || rbp->offset % 8)
			return SI_ROW(SI_ROW_STOP, 0, 0);
		saved = (uint64_t)-rbp->offset;
	} else if (rbp->how != SAME) {
		return SI_ROW(SI_ROW_STOP, 0, 0);
	}
	if (sp && saved > (uint64_t)cfa->offset)
		return SI_ROW(SI_ROW_STOP, 0, 0);
	return SI_ROW(sp ? SI_ROW_SP : SI_ROW_BP, (uint64_t)cfa->offset, saved);
}

/* Reads the FDE at `at`: its function's range into *begin and *range, and its common part's state
 * into `m`; `c` is left behind that. */
static bool function_of(struct machine *m, const struct si_cfi_view *v, uintptr_t at,
			struct cfi_cursor *c, uintptr_t *begin, uintptr_t *range)
{
	uintptr_t back;
	bool augmented;

	*c = entry(v, at);
	back = c->at;
	back -= take(c, 4);
	if (c->bad || back == at + 4 || !common_part(m, v, back, &augmented))
		return false;
	*begin = pointer(c, m->encoding, false);
	*range = pointer(c, m->encoding, true);
	if (augmented)
		skip(c, uleb(c));
	return !c->bad;
}

struct si_cfi si_cfi_find(const struct si_cfi_view *v, uintptr_t pc)
{
	struct si_cfi bare = { SI_ROW_OF_BARE, 0 },
		      stop = { SI_ROW(SI_ROW_STOP, 0, 0), 0 };
	struct machine m = NEW_MACHINE;
	uintptr_t target = pc - 1, at, begin, range;
	struct cfi_cursor c;

	at = search(v, target);
	if (!at)
		return bare;
	if (!function_of(&m, v, at, &c, &begin, &range))
		return stop;
	if (target - begin >= range)
		return bare; /* between two described functions: hand-written code */
	if (c.end - c.at > SI_CFI_BYTES)
		return stop;
	stop.function = begin;
	m.initial = m.now;
	m.depth = 0;
	if (!run(&m, &c, begin, target))
		return stop;
	return (struct si_cfi){ pack(&m), begin };
}

bool si_cfi_functions(const struct si_cfi_view *v, uint64_t most,
		      void (*tell)(uintptr_t begin, uintptr_t end))
{
	uint64_t count;
	const int32_t *pairs = table_of(v, &count);

	if (count > most)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		struct machine m = NEW_MACHINE;
		uintptr_t at = v->table + (uintptr_t)(intptr_t)pairs[2 * i + 1], begin, range;
		struct cfi_cursor c;

		if (!function_of(&m, v, at, &c, &begin, &range) || begin + range < begin)
			return false;
		if (range)
			tell(begin, begin + range);
	}
	return true;
}
