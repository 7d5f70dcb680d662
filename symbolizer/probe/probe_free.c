/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_free.c: see probe_free.h.
 *
 * A collected object without a destructor ends without a call of its own. But its memory is put on
 * a free list: the sweeper walks over a page, and passes each stretch between two live objects,
 * however many dead ones lie in it, to cppgc::internal::FreeList::Add(Block) or to
 * AddReturningUnusedBounds(Block), which differ in their results. The functions that free an object
 * at once, and that release the remainder of a vector's storage that shrank, do the same. Both
 * functions get the list, the address and the number of bytes, and, in the public source
 * (v8/src/heap/cppgc/free-list.cc, 2020 to 2026), do this:
 *
 *     if (bytes < sizeof(Entry)) …a filler: its header only
 *                                       (Entry is a header of 8 bytes and a pointer: 16)
 *     entry = new (address) Entry(bytes);   writes the header, and 0 into the pointer at 8
 *     entry->next = list->heads[log2 bytes]; list->heads[…] = entry;   heads: kPageSizeLog2 = 17
 *                                                                      pointers
 *     if (… > list->biggest) list->biggest = …;   after heads and tails: at 2 * 17 * 8 = 0x110
 *
 * Four of these facts are searched in the code of each function near those that create objects: the
 * third argument is compared with 15 or 16; 0 is stored at 8 after the second; the second itself is
 * stored somewhere in the target of the first; and the word at 0x110 after the first is loaded.
 * Chromium 150 and 156 (clang) and node 20 (gcc, where the symbols say that they are these two)
 * have exactly two such functions.
 */
#include "probe_free.h"

#include <string.h>

#include "../flow/flow_code.h"
#include "probe_eval.h"
#include "probe_near.h"

enum {
	BEFORE = 160,        /* most bytes from the function's start to the store of 0 */
	STEPS = 72,
	ENTRY_BYTES = 16, NEXT_AT = 8, BIGGEST_AT = 0x110,
	FOUND_MOST = 4,
};

/* Content of a register: an argument, or an address inside argument 0's target. */
enum free_held { HELD_NOTHING, HELD_LIST, HELD_ADDRESS, HELD_BYTES, HELD_HEAD };

struct free_reader {
	enum free_held held[16]; /* in Zydis' order: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15 */
	enum free_held
		branch[16]; /* `held` at the last conditional branch: its other arm follows the end
		             * of this one */
	bool compares, links, pushes, biggest;
};

static enum free_held held_in(const struct free_reader *r, ZydisRegister reg)
{
	int n = eval_register(reg);

	return n < 0 ? HELD_NOTHING : r->held[n];
}

static void see_memory(struct free_reader *r, const struct flow_instruction *i,
		       const ZydisDecodedOperand *o)
{
	enum free_held base = held_in(r, o->mem.base);
	bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type != ZYDIS_MEMOP_TYPE_MEM)
		return;
	if (base == HELD_ADDRESS && writes && o->mem.disp.value == NEXT_AT &&
	    i->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !i->operands[1].imm.value.u)
		r->links = true;
	if ((base == HELD_LIST || base == HELD_HEAD) && writes &&
	    i->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    held_in(r, i->operands[1].reg.value) == HELD_ADDRESS)
		r->pushes = true;
	if (base == HELD_LIST && o->mem.disp.value == BIGGEST_AT)
		r->biggest = true;
}

static void step(struct free_reader *r, const struct flow_instruction *i)
{
	const ZydisDecodedOperand *to = &i->operands[0], *from = &i->operands[1];
	int n = to->type == ZYDIS_OPERAND_TYPE_REGISTER &&
				(to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			? eval_register(to->reg.value)
			: -1;
	enum free_held held = HELD_NOTHING;

	if (i->decoded.mnemonic == ZYDIS_MNEMONIC_CMP && to->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    held_in(r, to->reg.value) == HELD_BYTES && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    (from->imm.value.u == ENTRY_BYTES || from->imm.value.u == ENTRY_BYTES - 1))
		r->compares = true;
	for (unsigned k = 0; k < i->decoded.operand_count_visible; k++)
		see_memory(r, i, &i->operands[k]);
	if (i->decoded.meta.category == ZYDIS_CATEGORY_CALL) {
		/* registers that a callee may change */
		static const uint8_t lost[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };

		for (size_t k = 0; k < sizeof(lost); k++)
			r->held[lost[k]] = HELD_NOTHING;
		return;
	}
	if (i->decoded.meta.category == ZYDIS_CATEGORY_COND_BR)
		memcpy(r->branch, r->held, sizeof(r->held));
	if (i->decoded.meta.category == ZYDIS_CATEGORY_RET ||
	    i->decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		memcpy(r->held, r->branch, sizeof(r->held));
	if (n < 0)
		return;
	if (i->decoded.mnemonic == ZYDIS_MNEMONIC_MOV && to->size == 64 &&
	    from->type == ZYDIS_OPERAND_TYPE_REGISTER)
		held = held_in(r, from->reg.value);
	else if (i->decoded.mnemonic == ZYDIS_MNEMONIC_LEA &&
		 held_in(r, from->mem.base) == HELD_LIST)
		held = HELD_HEAD;
	r->held[n] = held;
}

/* True if the function at `vaddr` shows all four facts. */
static bool is_add(const struct binary *file, uint64_t vaddr)
{
	struct flow_code code = { .file = file };
	struct free_reader r = { .held = {
					 [7] = HELD_LIST, [6] = HELD_ADDRESS, [2] = HELD_BYTES } };
	struct flow_instruction i;

	/* reads in the order of addresses */
	for (unsigned n = 0; n < STEPS && flow_decode(&code, vaddr, &i); n++, vaddr = i.next) {
		if (i.decoded.mnemonic == ZYDIS_MNEMONIC_INT3 && r.links)
			break;
		step(&r, &i);
		if (r.compares && r.links && r.pushes && r.biggest)
			return true;
	}
	return false;
}

/* True if `at` is the displacement, and the immediate, that end movq $0,8(%reg). */
static bool is_link(const uint8_t *at)
{
	return (at[-2] == 0xc7 && (at[-1] & 0xf8) == 0x40 && at[-1] != 0x44) ||
	       (at[-3] == 0xc7 && at[-2] == 0x44 && at[-1] == 0x24);
}

static bool is_one(const struct binary *file, uint64_t vaddr, void *context)
{
	(void)context;
	return is_add(file, vaddr);
}

static unsigned find(const struct near_code *near, uint64_t found[FOUND_MOST])
{
	static const uint8_t tail[] = { NEXT_AT, 0, 0, 0, 0 };
	unsigned count = 0;

	for (const uint8_t *at = NULL; (at = near_find(near, at, tail, sizeof(tail))); at++) {
		uint64_t start = is_link(at) ? near_function(near, at, BEFORE, is_one, NULL) : 0;
		bool known = !start;

		for (unsigned k = 0; k < count; k++)
			known |= found[k] == start;
		if (known)
			continue;
		if (count == FOUND_MOST)
			return count + 1;
		found[count++] = start;
	}
	return count;
}

void probe_free(const struct binary *file, struct probe_draft *draft)
{
	struct near_code near = near_code_of(file, draft);
	uint64_t found[FOUND_MOST];
	unsigned count, added = 0;

	if (!near.code)
		return;
	count = find(&near, found);
	if (!count || count > FOUND_MOST) {
		probe_draft_note(draft, "free", SHINY_PROBE_UNKNOWN,
				 "%s the sweeper's free lists: objects without a destructor "
				 "end when others take their place",
				 count ? "too many functions look like those of"
				       : "no function is like those of");
		return;
	}
	for (unsigned i = 0; i < count; i++)
		added += near_add_entry(file, draft, "free",
					&(struct shiny_probe_entry){ .vaddr = found[i],
								     .kind = SHINY_PROBE_FREE,
								     .size = 2 },
					false);
	if (added)
		probe_draft_note(draft, "free", SHINY_PROBE_HIGH,
				 "%u functions put memory on the sweeper's free lists", added);
}
