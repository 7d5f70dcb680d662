/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_start.c: see function_start.h.
 *
 * A symbol gives the start; so does .eh_frame's table, but only if it is complete: its nearest
 * entry below an address may belong to another function (Chromium has an entry for one function of
 * 80). Padding always remains. Functions start at multiples of 16, after int3 that the linker
 * wrote, or after nops that follow a ret. The instruction before the int3 does not go on: a ret, a
 * jump, a trap, or a call that may never return. One function in 16 needs no padding; it is found
 * if it starts as most do. Bytes are compared and nothing is decoded: one multiple of 16 in 13,000
 * looks so by chance, compared with one in twenty that is a start.
 *
 * A start too near only hides evidence from readers of the code; a start too far away would show
 * them another function's. So the nearest of all is chosen.
 */
#include "function_start.h"

#include <string.h>

#include "../elf/eh_table.h"
#include "../flow/flow_calls.h"
#include "../flow/flow_code.h"

enum { ALIGNMENT = 16, REACH = 8192, INT3_MAX = 63, NOP_MAX = 15, LAST_MAX = 7 };
enum { BEGINNING = 4 };
enum { INT3 = 0xcc, RET = 0xc3, RET_N = 0xc2, CALL = 0xe8, JMP = 0xe9, JMP_NEAR = 0xeb };
enum { NOP = 0x90, ESCAPE = 0x0f, UD2 = 0x0b, UD1 = 0xb9, WIDE_NOP = 0x1f, INDIRECT = 0xff };
enum { PREFIX_DATA = 0x66, PREFIX_CS = 0x2e };

/* Returns the length of a ModRM byte with its SIB byte and displacement. */
static size_t modrm_bytes(const uint8_t *modrm)
{
	unsigned mod = *modrm >> 6, rm = *modrm & 7;
	bool sib = mod != 3 && rm == 4;
	bool wide = mod == 2 || (mod == 0 && (rm == 5 || (sib && (modrm[1] & 7) == 5)));

	return 1 + sib + (wide ? 4 : mod == 1);
}

/* True if the `count` bytes are nops: 90, or 0f 1f with an operand, after prefixes. */
static bool are_nops(const uint8_t *bytes, size_t count)
{
	for (size_t at = 0; at < count;) {
		while (at < count && (bytes[at] == PREFIX_DATA || bytes[at] == PREFIX_CS))
			at++;
		if (at < count && bytes[at] == NOP)
			at++;
		else if (count - at >= 3 && bytes[at] == ESCAPE && bytes[at + 1] == WIDE_NOP &&
			 count - at - 2 >= modrm_bytes(bytes + at + 2))
			at += 2 + modrm_bytes(bytes + at + 2);
		else
			return false;
	}
	return true;
}

/* True if nops end at `end`, after a ret. `room` bytes before `end` are readable. */
static bool behind_nops(const uint8_t *end, size_t room)
{
	if (end[-1] != NOP && end[-1] != 0)
		return false;
	for (size_t nops = 1; nops <= NOP_MAX && nops < room; nops++)
		if (*(end - nops - 1) == RET && are_nops(end - nops, nops))
			return true;
	return false;
}

/* True if the bytes before `end` are a call or jump by a register or word, or a ud1. */
static bool is_with_operand(const uint8_t *end)
{
	for (size_t bytes = 2; bytes <= LAST_MAX; bytes++) {
		const uint8_t *at = end - bytes;

		if (at[0] == INDIRECT && ((at[1] & 0x38) == 0x10 || (at[1] & 0x38) == 0x20) &&
		    1 + modrm_bytes(at + 1) == bytes)
			return true;
		if (at[0] == ESCAPE && at[1] == UD1 && bytes > 2 &&
		    2 + modrm_bytes(at + 2) == bytes)
			return true;
	}
	return false;
}

/* True if an instruction that may not go on ends at `end`, judging by its bytes. */
static bool is_last(const uint8_t *end)
{
	return end[-1] == RET || end[-3] == RET_N || (end[-2] == ESCAPE && end[-1] == UD2) ||
	       end[-2] == JMP_NEAR || end[-5] == JMP || end[-5] == CALL || is_with_operand(end);
}

/* True for endbr64, or push %rbp; mov %rsp,%rbp. */
static bool begins(const uint8_t *at)
{
	return memcmp(at, "\xf3\x0f\x1e\xfa", 4) == 0 || memcmp(at, "\x55\x48\x89\xe5", 4) == 0;
}

/* True if a function starts at `at`. `room` bytes before `at` are readable, and four after it. */
static bool is_start(const uint8_t *at, size_t room)
{
	size_t padding = 0;

	if (room < INT3_MAX + LAST_MAX)
		return false;
	while (padding < INT3_MAX && *(at - padding - 1) == INT3)
		padding++;
	if (padding || begins(at))
		return is_last(at - padding);
	return behind_nops(at, room);
}

/* Returns the start of the code section that holds `vaddr`; 0: there are no sections. */
static uint64_t section_start(const struct binary *file, uint64_t vaddr)
{
	Elf64_Shdr section;

	for (size_t i = 0; binary_section(file, i, &section); i++)
		if (section.sh_flags & SHF_EXECINSTR && section.sh_addr <= vaddr &&
		    vaddr - section.sh_addr < section.sh_size)
			return section.sh_addr;
	return 0;
}

/* Finds the nearest start between `low` and `vaddr`, by the bytes. */
static bool nearest(const struct binary *file, uint64_t low, uint64_t vaddr, uint64_t *start)
{
	uint64_t at = vaddr & ~(uint64_t)(ALIGNMENT - 1);
	const uint8_t *bytes;

	if (low >= at)
		return false;
	bytes = binary_at(file, low, at + BEGINNING - low);
	for (; bytes && at > low; at -= ALIGNMENT)
		if (is_start(bytes + (at - low), at - low)) {
			*start = at;
			return true;
		}
	return false;
}

bool function_start(const struct flow_code *code, uint64_t ret, uint64_t *start)
{
	const struct symbol *symbol =
		code->symbols && ret ? symbols_find(&code->symbols->functions, ret - 1) : NULL;
	uint64_t low = ret > REACH ? ret - REACH : 0, section, table_low, high;
	bool found = false;

	if (!ret)
		return false;
	if (symbol) {
		*start = symbol->value;
		return true;
	}
	section = section_start(code->file, ret - 1);
	if (section > low)
		low = section;
	if (eh_table_find(code->file, ret - 1, &table_low, &high) && table_low > low) {
		*start = low = table_low;
		found = true;
	}
	if (nearest(code->file, low, ret - 1, start))
		return true;
	/* functions whose size is a multiple of 16 have no padding between them */
	if (!found && section && section == low) {
		*start = section;
		found = true;
	}
	return found;
}

static bool falls(const ZydisDecodedInstruction *instruction)
{
	ZydisInstructionCategory category = instruction->meta.category;

	return category != ZYDIS_CATEGORY_UNCOND_BR && category != ZYDIS_CATEGORY_RET &&
	       instruction->mnemonic != ZYDIS_MNEMONIC_UD2 &&
	       instruction->mnemonic != ZYDIS_MNEMONIC_INT3;
}

static bool is_nop(const ZydisDecodedInstruction *instruction)
{
	return instruction->meta.category == ZYDIS_CATEGORY_NOP ||
	       instruction->meta.category == ZYDIS_CATEGORY_WIDENOP;
}

/* Notes the target of a call: a function starts there. */
static void note_target(const ZydisDecodedInstruction *instruction, uint64_t at, uint64_t vaddr,
			uint64_t *low, uint64_t *limit)
{
	uint64_t target = instruction->meta.category == ZYDIS_CATEGORY_CALL
				  ? flow_branch(instruction, at)
				  : 0;

	if (target > *low && target <= vaddr)
		*low = target;
	else if (target > vaddr && target < *limit)
		*limit = target;
}

/* True for a call of a function that never returns. */
static bool ends_in(const struct flow_code *code, const ZydisDecodedInstruction *instruction,
		    uint64_t at)
{
	uint64_t target = instruction->meta.category == ZYDIS_CATEGORY_CALL
				  ? flow_branch(instruction, at)
				  : 0;
	struct flow_callee callee;

	if (!target)
		return false;
	callee = flow_callee_at(code, target);
	return flow_never_returns(code, &callee);
}

bool function_part(const struct flow_code *code, uint64_t vaddr, uint64_t *low, uint64_t *high)
{
	ZydisDecodedInstruction instruction;
	struct flow_stream stream;
	uint64_t at, limit = UINT64_MAX; /* start of the next function, judging by calls */
	/* about the instruction before */
	bool falls_in = true, called = false, padded = false, aligned;

	if (!function_start(code, vaddr + 1, low) || !flow_stream_open(&stream, code, *low))
		return false;
	while (stream.vaddr < vaddr + REACH && stream.vaddr < limit) {
		/* padding after a call: that may be one that never returns */
		if ((!falls_in || padded) && stream.vaddr % ALIGNMENT == 0) {
			if (stream.vaddr > vaddr)
				break;
			*low = stream.vaddr;
		}
		at = stream.vaddr;
		if (!flow_stream_next(&stream, &instruction))
			break;
		note_target(&instruction, at, vaddr, low, &limit);
		if (is_nop(&instruction)) {
			padded = padded || called;
			continue;
		}
		/* a call that never returns may have no padding after it */
		aligned = stream.vaddr % ALIGNMENT == 0;
		falls_in = falls(&instruction) && !(aligned && ends_in(code, &instruction, at));
		called = instruction.meta.category == ZYDIS_CATEGORY_CALL;
		padded = false;
	}
	*high = stream.vaddr < limit ? stream.vaddr : limit;
	return *low <= vaddr && vaddr < *high;
}
