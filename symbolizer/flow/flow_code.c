/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_code.c: see flow_code.h.
 *
 * A call leads to a function, to a PLT stub (`jmp *slot(%rip)`, after an endbr64 if the linker had
 * that option), or through a slot that the loader fills (`call *slot(%rip)`, -fno-plt). The slot's
 * relocation names the function. A slot that the program may write is a variable, not a constant:
 * only words that are read-only after loading count, and the GOT, which stays writable with lazy
 * binding.
 */
#include "flow_code.h"

#define INSTRUCTION_MAX 15

static void decoder_init(ZydisDecoder *decoder)
{
	ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

bool flow_decode(const struct flow_code *code, uint64_t vaddr, struct flow_instruction *out)
{
	uint64_t room = 0;
	const uint8_t *bytes = binary_code(code->file, vaddr, &room);
	ZydisDecoder decoder;

	decoder_init(&decoder);
	if (!bytes ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes,
					       room < INSTRUCTION_MAX ? room : INSTRUCTION_MAX,
					       &out->decoded, out->operands)))
		return false;
	out->vaddr = vaddr;
	out->next = vaddr + out->decoded.length;
	return true;
}

bool flow_address(const struct flow_instruction *instruction, const ZydisDecodedOperand *operand,
		  uint64_t *out)
{
	if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !operand->imm.is_relative)
		return false;
	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    (operand->mem.index != ZYDIS_REGISTER_NONE ||
	     operand->mem.segment == ZYDIS_REGISTER_FS ||
	     operand->mem.segment == ZYDIS_REGISTER_GS))
		return false;
	return ZYAN_SUCCESS(
		ZydisCalcAbsoluteAddress(&instruction->decoded, operand, instruction->vaddr, out));
}

static const char *name_at(const struct flow_code *code, uint64_t vaddr)
{
	const struct symbol *symbol =
		code->symbols ? symbols_find(&code->symbols->functions, vaddr) : NULL;

	return symbol && symbol->value == vaddr ? symbol->name : NULL;
}

static struct flow_callee callee_of(const struct flow_code *code, const struct word *word)
{
	const char *name;

	switch (word->kind) {
	case WORD_IMPORT: return (struct flow_callee){ 0, word->value ? NULL : word->symbol };
	case WORD_ADDRESS:
	case WORD_PLAIN:
		if (!(binary_flags(code->file, word->value) & PF_X))
			break;
		name = name_at(code, word->value);
		return (struct flow_callee){ word->value, name ? name : word->symbol };
	default: break;
	}
	return (struct flow_callee){ 0, NULL };
}

struct word flow_constant(const struct flow_code *code, uint64_t vaddr)
{
	struct word word = { .kind = WORD_NONE };

	if (binary_read_only(code->file, vaddr)) {
		word = reloc_word(code->relocs, vaddr);
	} else {
		Elf64_Shdr got;

		if ((binary_section_named(code->file, ".got", &got) &&
		     vaddr - got.sh_addr < got.sh_size) ||
		    (binary_section_named(code->file, ".got.plt", &got) &&
		     vaddr - got.sh_addr < got.sh_size))
			word = reloc_word(code->relocs, vaddr);
	}
	return word;
}

struct flow_callee flow_callee_in(const struct flow_code *code, uint64_t slot)
{
	struct word word = flow_constant(code, slot);

	return callee_of(code, &word);
}

/* Reads the slot's word of the PLT stub at `vaddr`. The stub itself shows that the loader fills the
 * slot. False: no stub is there. */
static bool stub_word(const struct flow_code *code, uint64_t vaddr, struct word *out)
{
	struct flow_instruction instruction;
	uint64_t slot;

	if (!flow_decode(code, vaddr, &instruction))
		return false;
	if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_ENDBR64 &&
	    !flow_decode(code, instruction.next, &instruction))
		return false;
	if (instruction.decoded.mnemonic != ZYDIS_MNEMONIC_JMP ||
	    instruction.operands[0].type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    !flow_address(&instruction, &instruction.operands[0], &slot))
		return false;
	*out = reloc_word(code->relocs, slot);
	return out->kind == WORD_IMPORT ||
	       (out->kind == WORD_ADDRESS && (binary_flags(code->file, out->value) & PF_X));
}

bool flow_stub(const struct flow_code *code, uint64_t vaddr, struct flow_callee *out)
{
	struct word word;

	if (!stub_word(code, vaddr, &word))
		return false;
	*out = callee_of(code, &word);
	return true;
}

struct flow_callee flow_callee_at(const struct flow_code *code, uint64_t vaddr)
{
	struct flow_callee callee = { vaddr, name_at(code, vaddr) };

	if (!callee.symbol)
		flow_stub(code, vaddr, &callee);
	return callee;
}

bool flow_stream_open(struct flow_stream *stream, const struct flow_code *code, uint64_t vaddr)
{
	*stream = (struct flow_stream){ .vaddr = vaddr };
	stream->bytes = binary_code(code->file, vaddr, &stream->room);
	decoder_init(&stream->decoder);
	return stream->bytes != NULL;
}

bool flow_stream_next(struct flow_stream *stream, ZydisDecodedInstruction *out)
{
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&stream->decoder, NULL, stream->bytes,
						      stream->room, out)))
		return false;
	stream->bytes += out->length;
	stream->vaddr += out->length;
	stream->room -= out->length;
	return true;
}

uint64_t flow_branch(const ZydisDecodedInstruction *instruction, uint64_t vaddr)
{
	return instruction->raw.imm[0].is_relative
		       ? vaddr + instruction->length + (uint64_t)instruction->raw.imm[0].value.s
		       : 0;
}

uint64_t flow_before(const struct flow_code *code, uint64_t low, uint64_t end)
{
	ZydisDecodedInstruction instruction;
	struct flow_stream stream;
	uint64_t last = 0;

	if (low >= end || !flow_stream_open(&stream, code, low))
		return 0;
	while (stream.vaddr < end) {
		last = stream.vaddr;
		if (!flow_stream_next(&stream, &instruction))
			return 0;
	}
	return stream.vaddr == end ? last : 0;
}
