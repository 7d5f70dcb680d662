/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_size.c: see class_size.h.
 *
 * gcc (C++14 and later) ends the deleting destructor D0 with `mov $sizeof(T),%esi; … jmp operator
 * delete(void*, unsigned long)`. In node 2,198 of 2,313 polymorphic blocks had that size. Members
 * that D0 deletes cause the same call with their own sizes, so only the tail jump counts; without
 * one (-O0), a single such call in the whole function, if that has no branches. The slot must be D0
 * by its symbol's name. clang 14 passes sizes only if told to; else the answer is 0.
 */
#include "class_size.h"

#include <string.h>

#include <Zydis/Zydis.h>

#define SLOTS_MAX 64
#define CODE_MAX 4096
#define SIZE_MAX_KNOWN ((uint64_t)1 << 31)

static bool is_sized_delete(const char *name)
{
	return name && (!strncmp(name, "_ZdlPvm", 7) &&
			(!name[7] || name[7] == '@' || !strcmp(name + 7, "St11align_val_t")));
}

/* True if the code at `target` is operator delete(void*, unsigned long): by its symbol, or as a PLT
 * entry that jumps through its slot. */
static bool jumps_to_sized_delete(const struct binary *file, struct reloc_index *relocs,
				  const struct symtab *symbols, const ZydisDecoder *decoder,
				  uint64_t target)
{
	const struct symbol *symbol = symbols_find(&symbols->functions, target);

	if (symbol && symbol->value == target)
		return is_sized_delete(symbol->name);
	for (int i = 0; i < 2; i++) { /* endbr64, then jmp *slot(%rip) */
		uint64_t room = binary_room(file, target), slot;
		const void *code = room ? binary_at(file, target, room) : NULL;
		ZydisDecodedInstruction instruction;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

		if (!code || ZYAN_FAILED(ZydisDecoderDecodeFull(decoder, code, room, &instruction,
								operands)))
			return false;
		if (instruction.mnemonic == ZYDIS_MNEMONIC_JMP &&
		    operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    ZYAN_SUCCESS(
			    ZydisCalcAbsoluteAddress(&instruction, &operands[0], target, &slot)))
			return is_sized_delete(reloc_word(relocs, slot).symbol);
		if (instruction.mnemonic != ZYDIS_MNEMONIC_ENDBR64)
			return false;
		target += instruction.length;
	}
	return false;
}

static uint64_t size_in_destructor(const struct binary *file, struct reloc_index *relocs,
				   const struct symtab *symbols, const struct symbol *destructor)
{
	uint64_t bytes = destructor->size < CODE_MAX ? destructor->size : CODE_MAX, argument = 0,
		 jumped = 0, called = 0;
	const uint8_t *code = binary_at(file, destructor->value, bytes);
	bool argument_set = false, jumps_agree = true, branches = false;
	unsigned jumps = 0, calls = 0;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint64_t at = 0; code && at < bytes;) {
		ZydisDecodedInstruction instruction;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		uint64_t target, address = destructor->value + at;

		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code + at, bytes - at,
						       &instruction, operands)))
			return 0;

		bool jump = instruction.mnemonic == ZYDIS_MNEMONIC_JMP,
		     call = instruction.mnemonic == ZYDIS_MNEMONIC_CALL;
		bool hit = false;

		if (jump || call) {
			if (operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &operands[0],
								  address, &target)))
				hit = jumps_to_sized_delete(file, relocs, symbols, &decoder,
							    target);
			else if (operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
				 ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &operands[0],
								       address, &target)))
				/* -fno-plt */
				hit = is_sized_delete(reloc_word(relocs, target).symbol);
		}
		if (hit && !argument_set)
			return 0; /* the size isn't constant: an array, or no deleting destructor */
		if (hit && jump) {
			jumps_agree = jumps_agree && (!jumps || jumped == argument);
			jumped = argument;
			jumps++;
		} else if (hit) {
			called = argument;
			calls++;
		}
		if (instruction.meta.category == ZYDIS_CATEGORY_COND_BR || (jump && !hit))
			branches = true;
		if (jump || call || instruction.meta.category == ZYDIS_CATEGORY_COND_BR ||
		    instruction.mnemonic == ZYDIS_MNEMONIC_RET)
			argument_set = false;
		for (size_t i = 0; i < instruction.operand_count_visible; i++)
			if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
			    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
							     operands[i].reg.value) ==
				    ZYDIS_REGISTER_RSI) {
				argument_set = instruction.mnemonic == ZYDIS_MNEMONIC_MOV &&
					       operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
				argument = argument_set ? operands[1].imm.value.u : 0;
			}
		at += instruction.length;
	}
	if (jumps)
		return jumps_agree && jumped < SIZE_MAX_KNOWN ? jumped : 0;
	return calls == 1 && !branches && called < SIZE_MAX_KNOWN ? called : 0;
}

uint64_t class_size(const struct binary *file, struct reloc_index *relocs,
		    const struct symtab *symbols, uint64_t address_point)
{
	for (size_t i = 0; i < SLOTS_MAX; i++) {
		struct word slot = reloc_word(relocs, address_point + i * 8);

		if (slot.kind == WORD_IMPORT)
			continue;
		if (slot.kind == WORD_NONE || !(binary_flags(file, slot.value) & PF_X))
			return 0; /* the end of the vtable */

		const struct symbol *symbol = symbols_find(&symbols->functions, slot.value);
		size_t length = symbol ? strlen(symbol->name) : 0;

		if (length > 4 && symbol->value == slot.value && !strncmp(symbol->name, "_ZN", 3) &&
		    !strcmp(symbol->name + length - 4, "D0Ev"))
			return size_in_destructor(file, relocs, symbols, symbol);
	}
	return 0;
}
