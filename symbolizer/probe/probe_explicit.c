/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_explicit.c: see probe_explicit.h.
 *
 * Blink's vectors and hash tables manage their storage themselves as far as they can: storage that
 * is no longer needed is freed at once, and storage that must grow or shrink is resized in place if
 * the memory after it is free. In the public source (v8/src/heap/cppgc/explicit-management.cc, 2021
 * to 2026) both begin with the object:
 *
 *     void FreeUnreferencedObject(HeapHandle&, void* object)   bool Resize(void* object, size_t
 *                                                                          bytes)
 *     page = object & ~(kPageSize - 1)             page = object & ~(kPageSize - 1)   128 KiB
 *     size = 16 bits before the object             old = 16 bits before the object
 *     …                                            new = (bytes + 8 + 7) & ~7
 *     free_list.Add({object - 8, size})            16 bits before the object = new, and the mark
 *
 * The function on the left is believed if it does these three with its second argument and calls or
 * jumps to a function of the sweeper's free lists (probe_free.c) with the header's address as
 * second argument; the one on the right if it does these four with its first and second. One
 * function of each must be found. Chromium 150 and 156 (clang) have them, and node 20 (gcc), as its
 * symbols say.
 */
#include "probe_explicit.h"

#include <inttypes.h>
#include <string.h>

#include "../flow/flow_code.h"
#include "probe_eval.h"
#include "probe_near.h"

enum { STEPS = 200, BEFORE = 0x140, SLOTS = 4, SIZE_AT = -2, HEADER_AT = -8 };
#define PAGE_MASK (~UINT64_C(0x1ffff))

enum explicit_held { HELD_NOTHING, HELD_OBJECT, HELD_HEADER, HELD_BYTES, HELD_SUM };

struct explicit_reader {
	const struct probe_draft *draft;
	enum explicit_held held[16]; /* in Zydis' order: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15 */
	enum explicit_held
		branch[16]; /* `held` at the last conditional branch: its other arm follows the end
		             * of this one */
	struct {
		int64_t at; /* offset from rbp */
		enum explicit_held held;
	} slots[SLOTS];
	unsigned slot_next;
	bool page, rounds, loads, stores, frees;
};

static enum explicit_held held_by(const struct explicit_reader *r, const ZydisDecodedOperand *o)
{
	int n;

	if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RBP &&
	    o->mem.index == ZYDIS_REGISTER_NONE && o->size == 64)
		for (unsigned i = 0; i < SLOTS; i++)
			if (r->slots[i].held != HELD_NOTHING && r->slots[i].at == o->mem.disp.value)
				return r->slots[i].held;
	if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return HELD_NOTHING;
	n = eval_register(o->reg.value);
	return n < 0 ? HELD_NOTHING : r->held[n];
}

/* True for the 16 bits with the size, addressed by the object or its header. */
static bool is_size(const struct explicit_reader *r, const ZydisDecodedOperand *o)
{
	int base = o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.index == ZYDIS_REGISTER_NONE &&
				   o->size == 16
			   ? eval_register(o->mem.base)
			   : -1;

	return base >= 0 &&
	       ((r->held[base] == HELD_OBJECT && o->mem.disp.value == SIZE_AT) ||
		(r->held[base] == HELD_HEADER && o->mem.disp.value == SIZE_AT - HEADER_AT));
}

static void see_target(struct explicit_reader *r, const struct flow_instruction *i)
{
	uint64_t target;

	if (r->held[6] != HELD_HEADER || !i->decoded.operand_count_visible ||
	    !flow_address(i, &i->operands[0], &target))
		return;
	for (uint32_t k = 0; k < r->draft->head.entry_count; k++)
		r->frees |= r->draft->head.entries[k].kind == SHINY_PROBE_FREE &&
			    r->draft->head.entries[k].vaddr == target;
}

/* Returns what the first operand, a register, holds after the instruction. */
static enum explicit_held after(struct explicit_reader *r, const struct flow_instruction *i)
{
	const ZydisDecodedOperand *to = &i->operands[0], *from = &i->operands[1];
	enum explicit_held before = held_by(r, to);
	bool by_number = from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	uint64_t number = by_number ? from->imm.value.u : 0;
	int base;

	switch (i->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return to->size == 64 ? held_by(r, from) : HELD_NOTHING;
	case ZYDIS_MNEMONIC_LEA:
		base = eval_register(from->mem.base);
		if (base < 0 || from->mem.index != ZYDIS_REGISTER_NONE)
			return HELD_NOTHING;
		if (r->held[base] == HELD_OBJECT && from->mem.disp.value == HEADER_AT)
			return HELD_HEADER;
		return r->held[base] == HELD_BYTES && from->mem.disp.value == 15 ? HELD_SUM
										 : HELD_NOTHING;
	case ZYDIS_MNEMONIC_ADD:
		if (before == HELD_OBJECT && number == (uint64_t)(int64_t)HEADER_AT)
			return HELD_HEADER;
		return before == HELD_BYTES && number == 15 ? HELD_SUM : HELD_NOTHING;
	case ZYDIS_MNEMONIC_AND:
		r->page |= (before == HELD_OBJECT || before == HELD_HEADER) && number == PAGE_MASK;
		r->rounds |= before == HELD_SUM && number == ~UINT64_C(7);
		return HELD_NOTHING;
	default:
		return HELD_NOTHING;
	}
}

static void step(struct explicit_reader *r, const struct flow_instruction *i)
{
	/* registers that a callee may change */
	static const uint8_t lost[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };
	const ZydisDecodedOperand *to = &i->operands[0];
	bool writes = to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	int n = to->type == ZYDIS_OPERAND_TYPE_REGISTER && writes ? eval_register(to->reg.value)
								  : -1;

	for (unsigned k = 0; k < i->decoded.operand_count_visible; k++)
		if (is_size(r, &i->operands[k]))
			*(i->operands[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? &r->stores
										   : &r->loads) =
				true;
	switch (i->decoded.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		see_target(r, i);
		for (size_t k = 0; k < sizeof(lost); k++)
			r->held[lost[k]] = HELD_NOTHING;
		return;
	case ZYDIS_CATEGORY_COND_BR:
		memcpy(r->branch, r->held, sizeof(r->held));
		return;
	case ZYDIS_CATEGORY_UNCOND_BR:
		see_target(r, i);
		memcpy(r->held, r->branch, sizeof(r->held));
		return;
	case ZYDIS_CATEGORY_RET:
		memcpy(r->held, r->branch, sizeof(r->held));
		return;
	default:
		break;
	}
	if (n >= 0) {
		r->held[n] = after(r, i);
	} else if (i->decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
		   to->type == ZYDIS_OPERAND_TYPE_MEMORY && to->mem.base == ZYDIS_REGISTER_RBP &&
		   held_by(r, &i->operands[1]) != HELD_NOTHING) {
		r->slots[r->slot_next % SLOTS].at = to->mem.disp.value;
		r->slots[r->slot_next++ % SLOTS].held = held_by(r, &i->operands[1]);
	}
}

/* Reads the function, in the order of addresses, with these values in its argument registers. */
static struct explicit_reader read_function(const struct near_code *near,
					    const struct probe_draft *draft, uint64_t vaddr,
					    enum explicit_held rdi, enum explicit_held rsi)
{
	struct flow_code code = { .file = near->file };
	struct explicit_reader r = { .draft = draft, .held = { [7] = rdi, [6] = rsi } };
	struct flow_instruction i;
	bool ended = false;

	memcpy(r.branch, r.held, sizeof(r.held));
	for (unsigned n = 0; n < STEPS && flow_decode(&code, vaddr, &i); n++, vaddr = i.next) {
		if (ended && n &&
		    (i.decoded.mnemonic == ZYDIS_MNEMONIC_INT3 || near_is_start(near, vaddr)))
			break;
		step(&r, &i);
		ended = i.decoded.meta.category == ZYDIS_CATEGORY_RET ||
			i.decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
	}
	return r;
}

struct wanted {
	const struct near_code *near;
	const struct probe_draft *draft;
};

static bool is_resize(const struct binary *file, uint64_t vaddr, void *context)
{
	const struct wanted *w = context;
	struct explicit_reader r = read_function(w->near, w->draft, vaddr, HELD_OBJECT, HELD_BYTES);

	(void)file;
	return r.page && r.rounds && r.loads && r.stores;
}

static bool is_release(const struct binary *file, uint64_t vaddr, void *context)
{
	const struct wanted *w = context;
	struct explicit_reader r =
		read_function(w->near, w->draft, vaddr, HELD_NOTHING, HELD_OBJECT);

	(void)file;
	return r.page && r.loads && r.frees;
}

/* True for movzwl -2(%reg),%r32, from its opcode on. */
static bool is_load(const uint8_t *at)
{
	return (at[2] & 0xc0) == 0x40 &&
	       ((at[2] & 7) == 4 ? at[3] == 0x24 && at[4] == 0xfe : at[3] == 0xfe);
}

/* Returns the one function that `is` accepts; 0: none, or more than one. */
static uint64_t find(const struct near_code *near, const struct probe_draft *draft, near_is_fn *is)
{
	struct wanted wanted = { near, draft };
	uint64_t found = 0;

	for (const uint8_t *at = NULL;
	     (at = near_find(near, at, "\x0f\xb7", 2)) && at + 8 <= near->code + near->bytes;
	     at++) {
		uint64_t start = is_load(at) ? near_function(near, at, BEFORE, is, &wanted) : 0;

		if (start && found && start != found)
			return 0;
		found = start ? start : found;
	}
	return found;
}

static void see(const struct near_code *near, struct probe_draft *draft, enum shiny_probe_kind kind,
		near_is_fn *is, const char *does, const char *lost)
{
	uint64_t vaddr = find(near, draft, is);
	struct shiny_probe_entry entry = { .vaddr = vaddr,
					   .kind = kind,
					   .size = kind == SHINY_PROBE_RESIZE
							   ? 1
							   : SHINY_PROBE_NO_ARGUMENT };

	if (!vaddr)
		probe_draft_note(draft, "explicit", SHINY_PROBE_UNKNOWN,
				 "not one function is like the one that %s: %s", does, lost);
	else if (near_add_entry(near->file, draft, "explicit", &entry, false))
		probe_draft_note(draft, "explicit", SHINY_PROBE_HIGH,
				 "the function at 0x%" PRIx64 " %s", vaddr, does);
}

void probe_explicit(const struct binary *file, struct probe_draft *draft)
{
	struct near_code near = near_code_of(file, draft);

	if (!near.code)
		return;
	see(&near, draft, SHINY_PROBE_RESIZE, is_resize, "resizes objects in place",
	    "they keep the size that they were made with");
	see(&near, draft, SHINY_PROBE_RELEASE, is_release, "frees objects at once",
	    "they may end when others take their place");
}
