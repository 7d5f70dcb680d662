/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_move.c: see probe_move.h.
 *
 * A collection may compact the spaces that hold the storage of vectors and hash tables.
 * cppgc::internal::Compactor (public source, 2020 to 2026: v8/src/heap/cppgc/compactor.cc) walks
 * over a page, from header to header, and copies each live object to the next free place:
 *
 *     size = header->AllocatedSize();      16 bits at 6 of the header, without the lowest
 *                                          one: the size in units of 8
 *     if (frontier != header) {
 *         if (current_page == page) memmove(frontier, header, size);
 *         else                      memcpy(frontier, header, size);
 *         movable_references.Relocate(header + 8, frontier + 8);
 *     }
 *
 * All of this is one function in Chromium 150, 156 and node: the only callees that get both
 * addresses are memmove and memcpy. So these two call instructions are searched, and patched
 * themselves.
 *
 * A load of 16 bits from 6 after a register indicates a header. From there all ways are walked,
 * with that word as a number: three numbers at once, so that what the code computes from it is
 * known, not guessed. A call is believed if
 *     it is a direct one of an import named memcpy or memmove,
 *     its second argument is the register with the header,
 *     its third is the number of bytes that the word stands for, for each of the three,
 *     its first was compared with the header before, and has not changed since;
 * and a header is believed if ways from it lead to one call of each. There must be one such pair.
 * Chromium 107, 150 and 156 have it; in node 20 it lies in Compactor::CompactSpacesIfEnabled(), as
 * its symbols say.
 *
 * Rejected: V8's list of move listeners in the heap (its place is not fixed, and an entry must not
 * be added without the program's knowledge); patching memmove itself, for all callers.
 */
#include "probe_move.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/lower_bound.h"
#include "../flow/flow_code.h"
#include "probe_eval.h"
#include "probe_near.h"

enum {
	LANES = 3,
	REACH = 0x2000, /* bytes from the load to the calls; gcc puts the rare call at the
	                 * function's end */
	WAYS = 24,
	WAY_STEPS = 300,
	STEPS = 6000,
	VISITS = 3,
	SIZE_AT = 6,
	SLOTS = 8,
};

/* Words of headers, and their sizes in bytes. */
static const uint64_t words[LANES] = { 0x0009, 0x1235, 0xfffe },
		      bytes[LANES] = { 0x20, 0x48d0, 0x3fff8 };

enum move_held { HELD_OTHER, HELD_HEADER, HELD_NUMBER };
struct move_value {
	enum move_held held;
	uint64_t made;          /* of OTHER: address of the instruction that produced it; a
	                         * register's value at the start has its number + 1 */
	uint64_t number[LANES]; /* of NUMBER */
};

struct way {
	uint64_t vaddr, compared; /* compared: `made` of the value last compared with the header */
	struct move_value reg[16]; /* in Zydis' order: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15 */
	struct slot {
		int64_t at; /* offset from rbp */
		struct move_value value;
	} slots[SLOTS]; /* the last written ones: registers are saved there */
	unsigned slot_count, steps;
};

enum callee { MEMCPY, MEMMOVE, CALLEES };
struct known_call {
	uint64_t vaddr;
	enum callee callee;
};

struct move_finder {
	struct flow_code code;
	VEC(struct known_call) calls; /* near by, sorted by address */
	uint64_t found[CALLEES]; /* calls that one header leads to; 0: none yet */
	bool two;                /* it leads to two calls of the same function */
	struct way ways[WAYS];
	unsigned way_count;
	struct {
		uint64_t vaddr;
		unsigned count;
	} visits[WAYS * 8];
	unsigned visit_count;
};

/* ---- a step ---- */

static bool is_slot(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RBP &&
	       o->mem.index == ZYDIS_REGISTER_NONE && o->size == 64;
}

static const struct move_value *value_of(const struct way *way, const ZydisDecodedOperand *o)
{
	int n;

	for (unsigned i = 0; is_slot(o) && i < way->slot_count && i < SLOTS; i++)
		if (way->slots[i].at == o->mem.disp.value)
			return &way->slots[i].value;
	n = o->type == ZYDIS_OPERAND_TYPE_REGISTER ? eval_register(o->reg.value) : -1;

	return n < 0 ? NULL : &way->reg[n];
}

static uint64_t masked(uint64_t number, unsigned bits)
{
	return bits >= 64 ? number : number & ((UINT64_C(1) << bits) - 1);
}

/* Returns the content of a register that held `old` after a write of `bits` bits. */
static uint64_t written(uint64_t old, uint64_t number, unsigned bits)
{
	return bits >= 32 ? masked(number, bits)
			  : (old & ~((UINT64_C(1) << bits) - 1)) | masked(number, bits);
}

/* Computes the number of an address operand that consists of numbers and constants. */
static bool lea_number(const struct way *way, const ZydisDecodedOperand *o, unsigned lane,
		       uint64_t *out)
{
	int base = o->mem.base == ZYDIS_REGISTER_NONE ? -1 : eval_register(o->mem.base),
	    index = eval_register(o->mem.index);
	uint64_t sum = (uint64_t)o->mem.disp.value;

	if ((o->mem.base != ZYDIS_REGISTER_NONE && base < 0) ||
	    (o->mem.index != ZYDIS_REGISTER_NONE && index < 0) || (base < 0 && index < 0))
		return false;
	if ((base >= 0 && way->reg[base].held != HELD_NUMBER) ||
	    (index >= 0 && way->reg[index].held != HELD_NUMBER))
		return false;
	if (base >= 0)
		sum += way->reg[base].number[lane];
	if (index >= 0)
		sum += way->reg[index].number[lane] * o->mem.scale;
	*out = sum;
	return true;
}

static bool is_word(const struct way *way, const struct flow_instruction *in)
{
	const ZydisDecodedOperand *o = &in->operands[1];

	return in->decoded.mnemonic == ZYDIS_MNEMONIC_MOVZX &&
	       o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->size == 16 &&
	       o->mem.index == ZYDIS_REGISTER_NONE && o->mem.disp.value == SIZE_AT &&
	       eval_register(o->mem.base) >= 0 &&
	       way->reg[eval_register(o->mem.base)].held == HELD_HEADER;
}

/* Gets the value of the second operand in a lane. False: it is no number. */
static bool source(const struct way *way, const struct flow_instruction *in, unsigned lane,
		   uint64_t *out)
{
	const ZydisDecodedOperand *o = &in->operands[1];
	const struct move_value *v = value_of(way, o);

	if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		*out = o->imm.value.u;
		return true;
	}
	if (!v || v->held != HELD_NUMBER)
		return false;
	*out = masked(v->number[lane], o->size);
	return true;
}

/* Computes the first operand's number after the instruction. False: it is none. */
static bool number_after(const struct way *way, const struct flow_instruction *in,
			 const struct move_value *old, unsigned lane, uint64_t *out)
{
	const ZydisDecodedOperand *to = &in->operands[0];
	uint64_t before = old->held == HELD_NUMBER ? old->number[lane] : 0, with = 1;

	if (is_word(way, in)) {
		*out = words[lane];
		return true;
	}
	switch (in->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_LEA:
		if (!lea_number(way, &in->operands[1], lane, out))
			return false;
		*out = masked(*out, to->size);
		return true;
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOV:
		if (!source(way, in, lane, &with) || (to->size < 32 && old->held != HELD_NUMBER))
			return false;
		*out = written(before, with, to->size);
		return true;
	default:
		break;
	}
	/* some encodings of shifts by one have no second operand */
	if (old->held != HELD_NUMBER ||
	    (in->decoded.operand_count_visible > 1 && !source(way, in, lane, &with)))
		return false;
	switch (in->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_SHR:
		*out = written(before, masked(before, to->size) >> (with & 63), to->size);
		return true;
	case ZYDIS_MNEMONIC_SHL:
		*out = written(before, before << (with & 63), to->size);
		return true;
	case ZYDIS_MNEMONIC_AND: *out = written(before, before & with, to->size); return true;
	case ZYDIS_MNEMONIC_ADD: *out = written(before, before + with, to->size); return true;
	default: return false;
	}
}

static void note_compared(struct way *way, const struct flow_instruction *in)
{
	const struct move_value *a = value_of(way, &in->operands[0]),
				*b = value_of(way, &in->operands[1]);

	if (in->decoded.mnemonic != ZYDIS_MNEMONIC_CMP || in->operands[0].size != 64 || !a || !b)
		return;
	if (a->held == HELD_HEADER && b->held == HELD_OTHER)
		way->compared = b->made;
	if (b->held == HELD_HEADER && a->held == HELD_OTHER)
		way->compared = a->made;
}

static void put_aside(struct way *way, const ZydisDecodedOperand *to,
		      const struct move_value *value)
{
	unsigned at = way->slot_count;

	for (unsigned i = 0; i < way->slot_count && i < SLOTS; i++)
		if (way->slots[i].at == to->mem.disp.value)
			at = i;
	way->slots[at % SLOTS] = (struct slot){ to->mem.disp.value, *value };
	way->slot_count += at == way->slot_count;
}

static void step(struct way *way, const struct flow_instruction *in)
{
	struct move_value after = { .made = in->vaddr };
	const ZydisDecodedOperand *to = &in->operands[0];
	int n = to->type == ZYDIS_OPERAND_TYPE_REGISTER &&
				to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE
			? eval_register(to->reg.value)
			: -1;
	bool number = n >= 0;

	note_compared(way, in);
	if (is_slot(to) && to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
		const struct move_value *from = in->decoded.mnemonic == ZYDIS_MNEMONIC_MOV
							? value_of(way, &in->operands[1])
							: NULL;

		put_aside(way, to, from ? from : &after);
	}
	for (unsigned lane = 0; number && lane < LANES; lane++)
		number = number_after(way, in, &way->reg[n], lane, &after.number[lane]);
	if (number)
		after.held = HELD_NUMBER;
	else if (n >= 0 && in->decoded.mnemonic == ZYDIS_MNEMONIC_MOV && to->size == 64 &&
		 value_of(way, &in->operands[1]))
		after = *value_of(way, &in->operands[1]);
	for (unsigned k = 0; k < in->decoded.operand_count; k++) { /* hidden operands, too */
		const ZydisDecodedOperand *o = &in->operands[k];
		int other = o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
					    o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE
				    ? eval_register(o->reg.value)
				    : -1;

		if (other >= 0)
			way->reg[other] = (struct move_value){ .made = in->vaddr };
	}
	if (n >= 0)
		way->reg[n] = after;
}

static void step_call(struct way *way, const struct flow_instruction *in)
{
	/* registers that a callee may change */
	static const uint8_t lost[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };

	for (size_t k = 0; k < sizeof(lost); k++)
		way->reg[lost[k]] = (struct move_value){ .made = in->vaddr };
}

/* ---- the walk ---- */

/* Returns the index of the first call at or after `vaddr`. */
static size_t call_behind(const struct move_finder *f, uint64_t vaddr)
{
	size_t low = lower_bound(f->calls.count, i, f->calls.at[i].vaddr < vaddr);

	return low;
}

static const struct known_call *call_at(const struct move_finder *f, uint64_t vaddr)
{
	size_t at = call_behind(f, vaddr);

	return at < f->calls.count && f->calls.at[at].vaddr == vaddr ? &f->calls.at[at] : NULL;
}

static bool copies_object(const struct way *way)
{
	const struct move_value *to = &way->reg[7], *from = &way->reg[6], *size = &way->reg[2];

	if (from->held != HELD_HEADER || to->held != HELD_OTHER || to->made != way->compared ||
	    size->held != HELD_NUMBER)
		return false;
	for (unsigned lane = 0; lane < LANES; lane++)
		if (size->number[lane] != bytes[lane])
			return false;
	return true;
}

static bool holds_header(const struct way *way)
{
	for (unsigned r = 0; r < 16; r++)
		if (way->reg[r].held == HELD_HEADER)
			return true;
	for (unsigned i = 0; i < way->slot_count && i < SLOTS; i++)
		if (way->slots[i].value.held == HELD_HEADER)
			return true;
	return false;
}

/* False: `vaddr` was visited VISITS times. */
static bool visit(struct move_finder *f, uint64_t vaddr)
{
	for (unsigned i = 0; i < f->visit_count; i++)
		if (f->visits[i].vaddr == vaddr)
			return f->visits[i].count++ < VISITS;
	if (f->visit_count == sizeof(f->visits) / sizeof(*f->visits))
		return false;
	f->visits[f->visit_count].vaddr = vaddr;
	f->visits[f->visit_count++].count = 1;
	return true;
}

/* Walks one way to its end, and adds others at its branches. */
static void walk(struct move_finder *f, struct way way, uint64_t start, unsigned *steps)
{
	struct flow_instruction in;
	uint64_t target;

	while (way.steps++ < WAY_STEPS && ++*steps < STEPS && holds_header(&way) &&
	       flow_decode(&f->code, way.vaddr, &in)) {
		bool direct = in.decoded.operand_count_visible &&
			      flow_address(&in, &in.operands[0], &target) &&
			      in.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

		way.vaddr = in.next;
		switch (in.decoded.meta.category) {
		case ZYDIS_CATEGORY_CALL: {
			const struct known_call *call = call_at(f, in.vaddr);

			if (call && copies_object(&way)) {
				f->two |= f->found[call->callee] &&
					  f->found[call->callee] != in.vaddr;
				f->found[call->callee] = in.vaddr;
				return;
			}
			step_call(&way, &in);
			break;
		}
		case ZYDIS_CATEGORY_COND_BR:
			if (direct && target + REACH > start && target < start + REACH &&
			    f->way_count < WAYS && visit(f, target)) {
				f->ways[f->way_count] = way;
				f->ways[f->way_count++].vaddr = target;
			}
			break;
		case ZYDIS_CATEGORY_UNCOND_BR:
			if (!direct || !visit(f, target))
				return;
			way.vaddr = target;
			break;
		case ZYDIS_CATEGORY_RET:
		case ZYDIS_CATEGORY_INTERRUPT:
			return;
		default:
			if (in.decoded.mnemonic == ZYDIS_MNEMONIC_UD2)
				return;
			step(&way, &in);
		}
	}
}

/* True if the instruction at `vaddr` loads from a header that leads to both calls. */
static bool leads_to_both(struct move_finder *f, uint64_t vaddr)
{
	struct flow_instruction in;
	struct way first = { .vaddr = vaddr };
	unsigned steps = 0;
	int base;

	if (!flow_decode(&f->code, vaddr, &in) || in.decoded.operand_count_visible < 2 ||
	    in.operands[1].type != ZYDIS_OPERAND_TYPE_MEMORY)
		return false;
	base = eval_register(in.operands[1].mem.base);
	if (base < 0)
		return false;
	for (unsigned r = 0; r < 16; r++)
		first.reg[r].made = r + 1;
	first.reg[base].held = HELD_HEADER;
	if (!is_word(&first, &in))
		return false;
	memset(f->found, 0, sizeof(f->found));
	f->two = false;
	f->visit_count = 0;
	f->ways[0] = first;
	f->way_count = 1;
	while (f->way_count)
		walk(f, f->ways[--f->way_count], vaddr, &steps);
	return f->found[MEMCPY] && f->found[MEMMOVE] && !f->two;
}

/* ---- where to look ---- */

/* Finds direct calls of the two imports. Few bytes that look like a call are one: a target is
 * examined only if it lies in the PLT, and once it is known it is only compared. */
static void find_calls(struct move_finder *f, const struct near_code *near)
{
	static const char *const names[CALLEES] = {[MEMCPY] = "memcpy", [MEMMOVE] = "memmove"};
	uint64_t stubs[CALLEES] = { 0 }, stubs_low, stubs_high;
	Elf64_Shdr plt;

	/* a stripped executable still has its sections */
	if (!binary_section_named(near->file, ".plt.sec", &plt) &&
	    !binary_section_named(near->file, ".plt", &plt))
		return;
	stubs_low = plt.sh_addr;
	stubs_high = plt.sh_addr + plt.sh_size;
	for (const uint8_t *at = NULL;
	     (at = near_find(near, at, "\xe8", 1)) && at + 5 <= near->code + near->bytes; at++) {
		uint64_t vaddr = near_vaddr(near, at), target;
		enum callee callee;
		int32_t distance;

		memcpy(&distance, at + 1, sizeof(distance));
		target = vaddr + 5 + (uint64_t)(int64_t)distance;
		if (target < stubs_low || target >= stubs_high)
			continue;
		for (callee = MEMCPY; callee < CALLEES && target != stubs[callee]; callee++)
			if (!stubs[callee]) {
				struct flow_callee stub = flow_callee_at(&f->code, target);

				if (stub.symbol && !strcmp(stub.symbol, names[callee])) {
					stubs[callee] = target;
					break;
				}
			}
		if (callee < CALLEES)
			*vec_push(&f->calls) = (struct known_call){ vaddr, callee };
	}
}

static bool near_call(const struct move_finder *f, uint64_t vaddr, enum callee callee)
{
	for (size_t i = call_behind(f, vaddr > REACH ? vaddr - REACH : 0);
	     i < f->calls.count && f->calls.at[i].vaddr < vaddr + REACH; i++)
		if (f->calls.at[i].callee == callee)
			return true;
	return false;
}

/* True for movzwl 6(%reg),%r32, from its opcode on; a prefix may precede it. */
static bool is_load(const uint8_t *at)
{
	return (at[2] & 0xc0) == 0x40 &&
	       ((at[2] & 7) == 4 ? at[3] == 0x24 && at[4] == SIZE_AT : at[3] == SIZE_AT);
}

void probe_move(const struct binary *file, struct reloc_index *relocs, struct probe_draft *draft)
{
	struct near_code near = near_code_of(file, draft);
	struct move_finder f = { .code = { .file = file, .relocs = relocs } };
	uint64_t pair[CALLEES] = { 0 };
	bool several = false;

	if (!near.code)
		return;
	find_calls(&f, &near);
	for (const uint8_t *at = NULL;
	     (at = near_find(&near, at, "\x0f\xb7", 2)) && at + 8 <= near.code + near.bytes; at++) {
		uint64_t vaddr = near_vaddr(&near, at);

		if (!is_load(at) || !near_call(&f, vaddr, MEMMOVE) || !near_call(&f, vaddr, MEMCPY))
			continue;
		if (!leads_to_both(&f, (at[-1] & 0xf0) == 0x40 ? vaddr - 1 : vaddr))
			continue;
		several |= pair[MEMCPY] &&
			   (pair[MEMCPY] != f.found[MEMCPY] || pair[MEMMOVE] != f.found[MEMMOVE]);
		memcpy(pair, f.found, sizeof(pair));
	}
	free(f.calls.at);
	if (!pair[MEMCPY] || several) {
		probe_draft_note(draft, "moves", SHINY_PROBE_UNKNOWN,
				 "%s: objects that a collection moves end there",
				 several ? "more than one place looks like the compactor's"
					 : "no place is like the compactor's");
		return;
	}
	for (unsigned i = 0; i < CALLEES; i++)
		if (!near_add_entry(file, draft, "moves",
				    &(struct shiny_probe_entry){
					    .vaddr = pair[i], .kind = SHINY_PROBE_MOVE, .size = 2 },
				    true))
			return;
	probe_draft_note(draft, "moves", SHINY_PROBE_HIGH,
			 "the compactor copies objects by the calls of memcpy at 0x%" PRIx64
			 " and memmove at 0x%" PRIx64,
			 pair[MEMCPY], pair[MEMMOVE]);
}
