/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_free.c: see probe_free.h.
 *
 * A collected object that has no destructor ends without a call of its own. But its memory is put on a free list: the sweeper walks over a
 * page, and gives each stretch between two living objects, however many dead ones lie in it, to cppgc::internal::FreeList::Add(Block) or
 * to AddReturningUnusedBounds(Block), which differ in what they return. So do what frees an object at once, and what gives away the rest
 * of a vector's storage that shrank. Both functions take the list, the address and the number of bytes, and, in the public source
 * (v8/src/heap/cppgc/free-list.cc, 2020 to 2026), do this:
 *
 *	if (bytes < sizeof(Entry))  …a filler: its header only           Entry is a header of 8 bytes and a pointer: 16
 *	entry = new (address) Entry(bytes);                              writes the header, and 0 into the pointer at 8
 *	entry->next = list->heads[log2 bytes]; list->heads[…] = entry;   heads: kPageSizeLog2 = 17 pointers
 *	if (… > list->biggest) list->biggest = …;                        behind heads and tails: at 2 * 17 * 8 = 0x110
 *
 * Four of these facts are looked for in the code of each function near the ones that make objects: the third argument is compared with 15 or
 * 16; 0 is stored at 8 behind the second; the second itself is stored somewhere in what the first points to; and the word at 0x110 behind
 * the first is loaded. Chromium 150 and 156 (clang) and node 20 (gcc, where the symbols say that they are these two) have exactly two such.
 */
#define _GNU_SOURCE /* memmem */
#include "probe_free.h"

#include <inttypes.h>
#include <string.h>

#include "flow_code.h"
#include "patch_recipe.h"

enum {
	NEAR = 4 << 20,      /* bytes around a function that makes objects */
	ALIGNMENT = 16,      /* of functions */
	BEFORE = 160,        /* bytes in front of the store of 0 in which its function begins */
	STEPS = 72,
	ENTRY_BYTES = 16, NEXT_AT = 8, BIGGEST_AT = 0x110,
	FOUND_MOST = 4,
};

/* What is known of a register: an argument, or an address inside what argument 0 points to. */
enum held { HELD_NOTHING, HELD_LIST, HELD_ADDRESS, HELD_BYTES, HELD_HEAD };

struct reader {
	enum held held[16];   /* by Zydis' order: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15 */
	enum held branch[16]; /* as they were at the last conditional branch: its other arm comes behind this one's end */
	bool compares, links, pushes, biggest;
};

static int number_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ? (int)whole - ZYDIS_REGISTER_RAX : -1;
}

static enum held held_in(const struct reader *r, ZydisRegister reg)
{
	int n = number_of(reg);

	return n < 0 ? HELD_NOTHING : r->held[n];
}

static void see_memory(struct reader *r, const struct flow_instruction *i, const ZydisDecodedOperand *o)
{
	enum held base = held_in(r, o->mem.base);
	bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type != ZYDIS_MEMOP_TYPE_MEM)
		return;
	if (base == HELD_ADDRESS && writes && o->mem.disp.value == NEXT_AT && i->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    !i->operands[1].imm.value.u)
		r->links = true;
	if ((base == HELD_LIST || base == HELD_HEAD) && writes && i->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    held_in(r, i->operands[1].reg.value) == HELD_ADDRESS)
		r->pushes = true;
	if (base == HELD_LIST && o->mem.disp.value == BIGGEST_AT)
		r->biggest = true;
}

static void step(struct reader *r, const struct flow_instruction *i)
{
	const ZydisDecodedOperand *to = &i->operands[0], *from = &i->operands[1];
	int n = to->type == ZYDIS_OPERAND_TYPE_REGISTER && (to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) ? number_of(to->reg.value) : -1;
	enum held held = HELD_NOTHING;

	if (i->decoded.mnemonic == ZYDIS_MNEMONIC_CMP && to->type == ZYDIS_OPERAND_TYPE_REGISTER && held_in(r, to->reg.value) == HELD_BYTES &&
	    from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && (from->imm.value.u == ENTRY_BYTES || from->imm.value.u == ENTRY_BYTES - 1))
		r->compares = true;
	for (unsigned k = 0; k < i->decoded.operand_count_visible; k++)
		see_memory(r, i, &i->operands[k]);
	if (i->decoded.meta.category == ZYDIS_CATEGORY_CALL) {
		static const uint8_t lost[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 }; /* what a callee need not keep */

		for (size_t k = 0; k < sizeof lost; k++)
			r->held[lost[k]] = HELD_NOTHING;
		return;
	}
	if (i->decoded.meta.category == ZYDIS_CATEGORY_COND_BR)
		memcpy(r->branch, r->held, sizeof r->held);
	if (i->decoded.meta.category == ZYDIS_CATEGORY_RET || i->decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		memcpy(r->held, r->branch, sizeof r->held);
	if (n < 0)
		return;
	if (i->decoded.mnemonic == ZYDIS_MNEMONIC_MOV && to->size == 64 && from->type == ZYDIS_OPERAND_TYPE_REGISTER)
		held = held_in(r, from->reg.value);
	else if (i->decoded.mnemonic == ZYDIS_MNEMONIC_LEA && held_in(r, from->mem.base) == HELD_LIST)
		held = HELD_HEAD;
	r->held[n] = held;
}

/* Does the function at `vaddr` do what these do? */
static bool is_add(const struct elf_file *file, uint64_t vaddr)
{
	struct flow_code code = { .file = file };
	struct reader r = { .held = { [7] = HELD_LIST, [6] = HELD_ADDRESS, [2] = HELD_BYTES } };
	struct flow_instruction i;

	/* in the order of addresses */
	for (unsigned n = 0; n < STEPS && flow_decode(&code, vaddr, &i); n++, vaddr = i.next) {
		if (i.decoded.mnemonic == ZYDIS_MNEMONIC_INT3 && r.links)
			break;
		step(&r, &i);
		if (r.compares && r.links && r.pushes && r.biggest)
			return true;
	}
	return false;
}

static bool is_start(const uint8_t *byte)
{
	return byte[-1] == 0xcc || byte[-1] == 0xc3 || byte[-1] == 0x90 || byte[-1] == 0x00 || byte[-1] == 0x0b; /* padding, ret, nop, ud2 */
}

/* movq $0,8(%reg), as its last bytes: the displacement and the immediate */
static bool is_link(const uint8_t *at)
{
	return (at[-2] == 0xc7 && (at[-1] & 0xf8) == 0x40 && at[-1] != 0x44) || (at[-3] == 0xc7 && at[-2] == 0x44 && at[-1] == 0x24);
}

static unsigned find(const struct elf_file *file, uint64_t near, uint64_t found[FOUND_MOST])
{
	static const uint8_t tail[] = { NEXT_AT, 0, 0, 0, 0 };
	uint64_t low = near > NEAR ? near - NEAR : 0, room;
	const uint8_t *code, *at, *end;
	unsigned count = 0;

	while (low < near && !(elf_file_flags(file, low) & PF_X))
		low += 4096;
	low = (low + 4095) & ~(uint64_t)4095;
	room = elf_file_room(file, low);
	if (room > 2 * (uint64_t)NEAR)
		room = 2 * (uint64_t)NEAR;
	code = room > BEFORE ? elf_file_at(file, low, room) : NULL;
	if (!code)
		return 0;
	for (at = code + BEFORE, end = code + room; (at = memmem(at, (size_t)(end - at), tail, sizeof tail)); at++) {
		uint64_t vaddr = low + (uint64_t)(at - code);

		if (!is_link(at))
			continue;
		for (uint64_t start = vaddr & ~(uint64_t)(ALIGNMENT - 1); start + BEFORE > vaddr && start > low; start -= ALIGNMENT) {
			bool known = false;

			for (unsigned k = 0; k < count; k++)
				known |= found[k] == start;
			if (known)
				break;
			if (!is_start(code + (start - low)) || !is_add(file, start))
				continue;
			if (count == FOUND_MOST)
				return count + 1;
			found[count++] = start;
			break;
		}
	}
	return count;
}

static bool add_entry(const struct elf_file *file, struct probe_draft *draft, uint64_t vaddr)
{
	struct shiny_probe_entry *entry = &draft->head.entries[draft->head.entry_count];
	struct shiny_patch_recipe recipe;
	const uint8_t *code = elf_file_at(file, vaddr, SHINY_PROBE_CODE);
	const char *why = patch_recipe_make(file, vaddr, 0, &recipe);

	if (why) {
		probe_draft_note(draft, "free", SHINY_PROBE_UNKNOWN, "the function at 0x%" PRIx64 " can't be patched: %s", vaddr, why);
		return false;
	}
	*entry = (struct shiny_probe_entry){ .vaddr = vaddr, .kind = SHINY_PROBE_FREE, .confidence = SHINY_PROBE_HIGH,
					     .handle = SHINY_PROBE_NO_ARGUMENT, .size = 2, .alignment = SHINY_PROBE_NO_ARGUMENT,
					     .index = SHINY_PROBE_NO_ARGUMENT, .space = SHINY_PROBE_NO_ARGUMENT, .slot = SHINY_PROBE_NO_ARGUMENT,
					     .trace = SHINY_PROBE_NO_ARGUMENT, .finalizer = SHINY_PROBE_NO_ARGUMENT,
					     .name = SHINY_PROBE_NO_ARGUMENT, .code_bytes = SHINY_PROBE_CODE };
	memcpy(entry->code, code, SHINY_PROBE_CODE);
	draft->head.entry_count++;
	probe_draft_recipe(draft, &recipe);
	return true;
}

void probe_free(const struct elf_file *file, struct probe_draft *draft)
{
	uint64_t found[FOUND_MOST], near = 0;
	unsigned count, added = 0;

	for (uint32_t i = 0; i < draft->head.entry_count && !near; i++)
		if (draft->head.entries[i].kind == SHINY_PROBE_ALLOCATE)
			near = draft->head.entries[i].vaddr;
	if (!near)
		return;
	count = find(file, near, found);
	if (!count || count > FOUND_MOST || draft->head.entry_count + count > SHINY_PROBE_ENTRIES) {
		probe_draft_note(draft, "free", SHINY_PROBE_UNKNOWN, "%s the sweeper's free lists: objects without a destructor "
				 "end when others take their place", count ? "too many functions look like those of" : "no function is like those of");
		return;
	}
	for (unsigned i = 0; i < count; i++)
		added += add_entry(file, draft, found[i]);
	if (added)
		probe_draft_note(draft, "free", SHINY_PROBE_HIGH, "%u functions put memory on the sweeper's free lists", added);
}
