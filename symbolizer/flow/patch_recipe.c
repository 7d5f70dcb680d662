/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch_recipe.c: see patch_recipe.h.
 *
 * A displaced instruction keeps its meaning. Only instructions that name a place by its distance
 * from themselves change:
 *   a rip-relative operand  keeps its form; the four bytes of the distance become a fixup
 *   a jump                  gets its long form, with a fixup
 *   a direct call, or one through a rip operand
 *                           pushes its original return address, and jumps: no unwinder has a row
 *                           for an address in the trampoline. With its 5 or 6 bytes it is always
 *                           the last instruction displaced, so it returns to the code after them
 *   any other call          is refused
 *   jrcxz, loop             are refused: they have no long form
 *
 * No jump may arrive in the middle of the displaced bytes: the whole function is decoded, and a
 * jump from inside it to any displaced byte is refused. That includes the first byte: such a jump
 * would look like a call. Calls of the entry itself are calls. Compilers put a function's unlikely
 * parts elsewhere, so the targets of its jumps are searched for jumps back, too. A function that
 * ends before a jump's five bytes is patched if padding follows.
 *
 * A call instruction is simpler: it becomes a call of the stub, and its trampoline is a jump to the
 * original target.
 */
#include "patch_recipe.h"

#include <string.h>

#include "flow_code.h"

enum {
	LONGEST = 18,
	INSTRUCTION_MAX = 15,
	UNKNOWN_MAX = 4096,
	KNOWN_MAX = 1 << 20,
	PART_INSTRUCTIONS = 256
};

struct maker {
	const struct binary *file;
	ZydisDecoder decoder;
	struct shiny_patch_recipe *recipe;
};

struct instruction {
	uint64_t vaddr, next;
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	const uint8_t *bytes;
};

static bool decode(const struct maker *m, uint64_t vaddr, struct instruction *out)
{
	uint64_t room;

	out->bytes = binary_code(m->file, vaddr, &room);
	if (!out->bytes ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(&m->decoder, out->bytes,
					       room < INSTRUCTION_MAX ? room : INSTRUCTION_MAX,
					       &out->decoded, out->operands)))
		return false;
	out->vaddr = vaddr;
	out->next = vaddr + out->decoded.length;
	return true;
}

/* Finds the target of a direct jump or call. False: the instruction is neither. */
static bool branch_target(const struct instruction *i, uint64_t *target)
{
	for (unsigned k = 0; k < i->decoded.operand_count_visible; k++)
		if (i->operands[k].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		    i->operands[k].imm.is_relative)
			return ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&i->decoded, &i->operands[k],
								     i->vaddr, target));
	return false;
}

static bool is_end(const struct instruction *i)
{
	return i->decoded.meta.category == ZYDIS_CATEGORY_RET ||
	       i->decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       i->decoded.mnemonic == ZYDIS_MNEMONIC_UD2;
}

static bool is_padding(const struct instruction *i)
{
	return i->decoded.mnemonic == ZYDIS_MNEMONIC_NOP ||
	       i->decoded.mnemonic == ZYDIS_MNEMONIC_INT3;
}

/* ---- moving ---- */

static const char *add_fixup(struct shiny_patch_recipe *r, uint64_t target, unsigned at,
			     unsigned next)
{
	if (r->fixup_count == SHINY_PATCH_FIXUPS)
		return "it begins with too many references";
	r->fixups[r->fixup_count++] = (struct shiny_patch_fixup){ .target = target,
								  .at = (uint8_t)at,
								  .next = (uint8_t)next };
	return NULL;
}

/* Appends a jump in its long form. */
static const char *move_jump(struct shiny_patch_recipe *r, const struct instruction *i,
			     uint64_t target)
{
	bool always = i->decoded.mnemonic == ZYDIS_MNEMONIC_JMP;
	unsigned at = r->code_bytes;

	if (always) {
		r->code[at++] = 0xe9;
	} else {
		/* the condition is the low half of the opcode's last byte, in both forms */
		r->code[at++] = 0x0f;
		r->code[at++] = 0x80 | (i->decoded.opcode & 0x0f);
	}
	r->code_bytes = (uint8_t)(at + 4);
	return add_fixup(r, target, at, r->code_bytes);
}

/* Appends push %rax; lea RETURN(%rip),%rax; xchg %rax,(%rsp); jmp TARGET or jmp *TARGET(%rip): it
 * preserves all registers and flags. */
static const char *move_call(struct shiny_patch_recipe *r, const struct instruction *i)
{
	static const uint8_t push_lea[] = { 0x50, 0x48, 0x8d, 0x05 },
			     xchg[] = { 0x48, 0x87, 0x04, 0x24 };
	const ZydisDecodedOperand *o = &i->operands[0];
	uint8_t *code = r->code + r->code_bytes;
	bool direct = i->decoded.opcode == 0xe8 && o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	unsigned at = r->code_bytes + (direct ? 13 : 14);
	const char *why;
	uint64_t target;

	if (i->decoded.length < SHINY_PATCH_JUMP ||
	    i->decoded.raw.prefix_count > (i->operands[0].size == 64 ? 1 : 0) ||
	    (!direct && (i->decoded.opcode != 0xff || o->type != ZYDIS_OPERAND_TYPE_MEMORY ||
			 o->mem.base != ZYDIS_REGISTER_RIP || i->decoded.raw.disp.size != 32)) ||
	    ZYAN_FAILED(ZydisCalcAbsoluteAddress(&i->decoded, o, i->vaddr, &target)))
		return "it begins with a call";
	memcpy(code, push_lea, sizeof(push_lea));
	memcpy(code + 8, xchg, sizeof(xchg));
	if (direct) {
		code[12] = 0xe9;
	} else {
		code[12] = 0xff;
		code[13] = 0x25;
	}
	why = add_fixup(r, i->next, r->code_bytes + sizeof(push_lea), r->code_bytes + 8);
	r->code_bytes = (uint8_t)(at + 4);
	return why ? why : add_fixup(r, target, at, r->code_bytes);
}

static const char *move(struct shiny_patch_recipe *r, const struct instruction *i)
{
	unsigned at = r->code_bytes;
	uint64_t target;

	if (at + LONGEST > SHINY_PATCH_CODE)
		return "its first instructions are too long";
	if (i->decoded.meta.category == ZYDIS_CATEGORY_CALL)
		return move_call(r, i);
	if (branch_target(i, &target)) {
		if (i->decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		    (i->decoded.meta.category == ZYDIS_CATEGORY_COND_BR &&
		     ((i->decoded.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
		       (i->decoded.opcode & 0xf0) == 0x70) ||
		      (i->decoded.opcode_map == ZYDIS_OPCODE_MAP_0F &&
		       (i->decoded.opcode & 0xf0) == 0x80))))
			return move_jump(r, i, target);
		return "it begins with a branch that reaches only near places";
	}
	memcpy(r->code + at, i->bytes, i->decoded.length);
	r->code_bytes = (uint8_t)(at + i->decoded.length);
	for (unsigned k = 0; k < i->decoded.operand_count; k++) {
		const ZydisDecodedOperand *o = &i->operands[k];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    (o->mem.base != ZYDIS_REGISTER_RIP && o->mem.base != ZYDIS_REGISTER_EIP))
			continue;
		if (o->mem.base == ZYDIS_REGISTER_EIP || i->decoded.raw.disp.size != 32 ||
		    ZYAN_FAILED(ZydisCalcAbsoluteAddress(&i->decoded, o, i->vaddr, &target)))
			return "it begins with a reference that can't be moved";
		return add_fixup(r, target, at + i->decoded.raw.disp.offset, r->code_bytes);
	}
	return NULL;
}

/* Displaces whole instructions, as many as a jump needs. */
static const char *displace(struct maker *m, uint64_t vaddr, uint64_t end)
{
	struct shiny_patch_recipe *r = m->recipe;
	struct instruction i;
	const char *why;
	bool ended = false;

	for (uint64_t at = vaddr; at < vaddr + SHINY_PATCH_JUMP; at = i.next) {
		if (!decode(m, at, &i))
			return "its first instructions can't be read";
		if (ended || (end && at >= end)) {
			if (!is_padding(&i))
				return "it is shorter than a jump";
		} else {
			why = move(r, &i);
			if (why)
				return why;
			ended = is_end(&i);
		}
		r->displaced = (uint8_t)(i.next - vaddr);
	}
	return NULL;
}

/* ---- the rest of the function ---- */

/* True if the code at `at`, outside the function, jumps into it past its first displaced byte; a
 * jump to that byte is a tail call. */
static bool part_returns(const struct maker *m, uint64_t at, uint64_t low, uint64_t high)
{
	struct instruction i;
	uint64_t target;

	for (unsigned n = 0; n < PART_INSTRUCTIONS && decode(m, at, &i); n++, at = i.next) {
		if (i.decoded.meta.category != ZYDIS_CATEGORY_CALL && branch_target(&i, &target) &&
		    target > low && target < high)
			return true;
		if (is_end(&i))
			break;
	}
	return false;
}

/* Returns why not if something in the function jumps to [low, high); else NULL. */
static const char *check_body(const struct maker *m, uint64_t from, uint64_t end, uint64_t low,
			      uint64_t high)
{
	uint64_t limit = from + (end ? KNOWN_MAX : UNKNOWN_MAX), target;
	struct instruction i;
	bool ended = false;

	for (uint64_t at = from; at < limit && (!end || at < end); at = i.next) {
		if (!decode(m, at, &i)) {
			if (!end)
				break;
			i.next = at + 1; /* data between code: a jump table of old compilers */
			continue;
		}
		if (!end && ended && is_padding(&i))
			break;
		ended = is_end(&i);
		if (i.decoded.meta.category == ZYDIS_CATEGORY_CALL || !branch_target(&i, &target))
			continue;
		if ((target >= low && target < high) ||
		    (end && (target < from || target >= end) && part_returns(m, target, low, high)))
			return "a jump in it leads back to its first instructions";
	}
	return NULL;
}

/* Records the bytes that must be in memory. */
static const char *expect(const struct maker *m, uint64_t vaddr, uint64_t end)
{
	struct shiny_patch_recipe *r = m->recipe;
	uint64_t room = binary_room(m->file, vaddr);
	const uint8_t *bytes;

	r->expected_bytes = room < SHINY_PATCH_EXPECTED ? (uint8_t)room : SHINY_PATCH_EXPECTED;
	if (end && end - vaddr < r->expected_bytes &&
	    end - vaddr >= (uint64_t)r->skip + r->displaced)
		r->expected_bytes = (uint8_t)(end - vaddr);
	bytes = binary_at(m->file, vaddr, r->expected_bytes);
	if (!bytes || r->expected_bytes < r->skip + r->displaced)
		return "there is no code at its address";
	memcpy(r->expected, bytes, r->expected_bytes);
	return NULL;
}

static void begin(struct maker *m, const struct binary *file, uint64_t vaddr,
		  struct shiny_patch_recipe *out)
{
	*m = (struct maker){ .file = file, .recipe = out };
	memset(out, 0, sizeof(*out));
	ZydisDecoderInit(&m->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	out->vaddr = vaddr;
}

const char *patch_recipe_make_call(const struct binary *file, uint64_t vaddr,
				   struct shiny_patch_recipe *out)
{
	struct instruction call;
	struct maker m;
	uint64_t target;

	begin(&m, file, vaddr, out);
	if (!decode(&m, vaddr, &call) || call.decoded.opcode != 0xe8 ||
	    call.decoded.length != SHINY_PATCH_JUMP || !branch_target(&call, &target))
		return "it is no direct call";
	out->call = 1;
	out->displaced = SHINY_PATCH_JUMP;
	out->code[0] = 0xe9;
	out->code_bytes = SHINY_PATCH_JUMP;
	return add_fixup(out, target, 1, SHINY_PATCH_JUMP) ?: expect(&m, vaddr, 0);
}

const char *patch_recipe_make(const struct binary *file, uint64_t vaddr, uint64_t end,
			      struct shiny_patch_recipe *out)
{
	struct instruction first;
	uint64_t start = vaddr;
	struct maker m;
	const char *why;

	begin(&m, file, vaddr, out);
	if (!decode(&m, vaddr, &first))
		return "there is no code at its address";
	if (first.decoded.mnemonic == ZYDIS_MNEMONIC_ENDBR64) {
		out->skip = first.decoded.length;
		start = first.next;
	}
	why = displace(&m, start, end);
	if (!why)
		why = check_body(&m, start, end, start, start + out->displaced);
	return why ? why : expect(&m, vaddr, end);
}
