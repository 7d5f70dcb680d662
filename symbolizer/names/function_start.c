/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_start.c: see function_start.h.
 *
 * A symbol says it; so does .eh_frame's table, but only where it is complete: its nearest entry
 * below an address may belong to another function (Chromium has an entry for one function of 80).
 * What always remains is padding. Functions begin at multiples of 16, behind int3 that the linker
 * wrote, or behind nops that follow a ret. The nearest such place counts, if the instructions from
 * there meet the return address: bytes that look like padding inside an instruction rarely do.
 *
 * A place too near only hides evidence from those who read on from it; a place too far in front
 * would show them another function's. So the nearest of all is taken.
 */
#include "function_start.h"

#include "../elf/eh_table.h"
#include "../flow/flow_code.h"

enum { ALIGNMENT = 16, REACH = 8192, TRIES = 8, NOP_MAX = 15 };
enum { INT3 = 0xcc, RET = 0xc3, NOP = 0x90 };

/* The bytes in front of `at` are one or several nops, with a ret in front of them. */
static bool behind_nops(const struct binary *file, uint64_t at)
{
	for (uint64_t back = 1; back <= NOP_MAX; back++) {
		const uint8_t *bytes = binary_at(file, at - back - 1, back + 1);

		if (!bytes)
			return false;
		if (bytes[0] == RET && (bytes[1] == NOP || bytes[1] == 0x0f || bytes[1] == 0x66))
			return true;
	}
	return false;
}

static bool behind_padding(const struct binary *file, uint64_t at)
{
	const uint8_t *before = binary_at(file, at - 1, 1);

	return before && (*before == INT3 || behind_nops(file, at));
}

/* Where the section of code begins that holds `vaddr`; 0: there are no sections. */
static uint64_t section_start(const struct binary *file, uint64_t vaddr)
{
	Elf64_Shdr section;

	for (size_t i = 0; binary_section(file, i, &section); i++)
		if (section.sh_flags & SHF_EXECINSTR && section.sh_addr <= vaddr &&
		    vaddr - section.sh_addr < section.sh_size)
			return section.sh_addr;
	return 0;
}

bool function_start(const struct flow_code *code, uint64_t ret, uint64_t *start)
{
	const struct symbol *symbol =
		code->symbols && ret ? symbols_find(&code->symbols->functions, ret - 1) : NULL;
	uint64_t low = ret > REACH ? ret - REACH : 0, table_low, high,
		 at = (ret - 1) & ~(uint64_t)(ALIGNMENT - 1);
	bool found = false;

	if (!ret)
		return false;
	if (symbol) {
		*start = symbol->value;
		return flow_before(code, *start, ret) != 0;
	}
	if (eh_table_find(code->file, ret - 1, &table_low, &high) && table_low > low &&
	    flow_before(code, table_low, ret)) {
		*start = low = table_low;
		found = true;
	}
	for (unsigned tries = 0; at > low && tries < TRIES; at -= ALIGNMENT) {
		if (!behind_padding(code->file, at))
			continue;
		if (flow_before(code, at, ret)) {
			*start = at;
			return true;
		}
		tries++;
	}
	/* functions of whole multiples of 16 have no padding between them */
	if (!found) {
		*start = section_start(code->file, ret - 1);
		found = *start && *start > low && flow_before(code, *start, ret);
	}
	return found;
}

static bool falls(const struct flow_instruction *instruction)
{
	ZydisInstructionCategory category = instruction->decoded.meta.category;

	return category != ZYDIS_CATEGORY_UNCOND_BR && category != ZYDIS_CATEGORY_RET &&
	       instruction->decoded.mnemonic != ZYDIS_MNEMONIC_UD2 &&
	       instruction->decoded.mnemonic != ZYDIS_MNEMONIC_INT3;
}

static bool is_nop(const struct flow_instruction *instruction)
{
	return instruction->decoded.meta.category == ZYDIS_CATEGORY_NOP ||
	       instruction->decoded.meta.category == ZYDIS_CATEGORY_WIDENOP;
}

bool function_part(const struct flow_code *code, uint64_t vaddr, uint64_t *low, uint64_t *high)
{
	struct flow_instruction instruction;
	uint64_t at;
	/* of what stands in front of `at` */
	bool falls_in = true, called = false, padded = false;

	if (!function_start(code, vaddr + 1, low))
		return false;
	for (at = *low; at < vaddr + REACH; at = instruction.next) {
		/* padding behind a call: it may be one that never returns */
		if ((!falls_in || padded) && at % ALIGNMENT == 0) {
			if (at > vaddr)
				break;
			*low = at;
		}
		if (!flow_decode(code, at, &instruction))
			break;
		if (is_nop(&instruction)) {
			padded = padded || called;
			continue;
		}
		falls_in = falls(&instruction);
		called = instruction.decoded.meta.category == ZYDIS_CATEGORY_CALL;
		padded = false;
	}
	*high = at;
	return *low <= vaddr && vaddr < *high;
}
