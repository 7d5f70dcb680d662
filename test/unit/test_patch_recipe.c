/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_patch_recipe.c: the recipes for every exported function of the libraries that this program
 * itself has mapped, read back by the decoder: each displaced instruction is there, in order, and
 * means the same at the trampoline's place as at its own. test/ring/patch runs such functions; here
 * are thousands of others.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "../../symbolizer/elf/binary.h"
#include "../../symbolizer/flow/patch_recipe.h"
#include "check.h"

static ZydisDecoder decoder;

struct instruction {
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const uint8_t *bytes, size_t room, struct instruction *out)
{
	return ZYAN_SUCCESS(
		ZydisDecoderDecodeFull(&decoder, bytes, room, &out->decoded, out->operands));
}

/* The address that operand `n` names by its distance from the instruction. */
static bool absolute(const struct instruction *i, unsigned n, uint64_t at, uint64_t *out)
{
	const ZydisDecodedOperand *o = &i->operands[n];

	if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !o->imm.is_relative)
		return false;
	if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base != ZYDIS_REGISTER_RIP)
		return false;
	return (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE || o->type == ZYDIS_OPERAND_TYPE_MEMORY) &&
	       ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&i->decoded, o, at, out));
}

/* What is different; NULL: nothing. */
static const char *compare(const struct instruction *a, uint64_t at_a, const uint8_t *bytes_a,
			   const struct instruction *b, uint64_t at_b, const uint8_t *bytes_b)
{
	bool moved = false;

	if (a->decoded.mnemonic != b->decoded.mnemonic ||
	    a->decoded.operand_count_visible != b->decoded.operand_count_visible)
		return "another instruction";
	for (unsigned n = 0; n < a->decoded.operand_count_visible; n++) {
		uint64_t x = 0, y = 0;
		bool relative = absolute(a, n, at_a, &x);

		if (relative != absolute(b, n, at_b, &y) || x != y)
			return "another address";
		moved = moved || relative;
		if (a->operands[n].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    a->operands[n].reg.value != b->operands[n].reg.value)
			return "another register";
		if (a->operands[n].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !relative &&
		    a->operands[n].imm.value.u != b->operands[n].imm.value.u)
			return "another constant";
	}
	if (!moved && (a->decoded.length != b->decoded.length ||
		       memcmp(bytes_a, bytes_b, a->decoded.length) != 0))
		return "other bytes";
	return NULL;
}

/*
 * A call has become five instructions: push, lea of the address behind the call, xchg, jmp to the
 * same target. Their bytes, 0: they are not that.
 */
static unsigned moved_call(const struct instruction *a, uint64_t at_a, const uint8_t *code,
			   size_t room, uint64_t place)
{
	static const ZydisMnemonic expected[] = { ZYDIS_MNEMONIC_PUSH, ZYDIS_MNEMONIC_LEA,
						  ZYDIS_MNEMONIC_XCHG, ZYDIS_MNEMONIC_JMP };
	uint64_t back = 0, from = 0, to = 0;
	struct instruction b;
	unsigned used = 0;

	for (unsigned n = 0; n < 4; n++) {
		if (used >= room || !decode(code + used, room - used, &b) ||
		    b.decoded.mnemonic != expected[n])
			return 0;
		if (n == 0 && b.operands[0].reg.value != ZYDIS_REGISTER_RAX)
			return 0;
		if (n == 1 && (b.operands[0].reg.value != ZYDIS_REGISTER_RAX ||
			       !absolute(&b, 1, place + used, &back)))
			return 0;
		if (n == 2 &&
		    (b.operands[0].mem.base != ZYDIS_REGISTER_RSP || b.operands[0].mem.disp.value ||
		     b.operands[1].reg.value != ZYDIS_REGISTER_RAX))
			return 0;
		if (n == 3 && (b.operands[0].type != a->operands[0].type ||
			       !absolute(&b, 0, place + used, &to) || !absolute(a, 0, at_a, &from)))
			return 0;
		used += b.decoded.length;
	}
	return back == at_a + a->decoded.length && from == to ? used : 0;
}

/* Carries a recipe out as the library would, for a trampoline at `place`, and reads it back. */
static const char *read_back(const struct binary *file, const struct shiny_patch_recipe *r,
			     uint64_t place)
{
	uint8_t code[SHINY_PATCH_CODE];
	const uint8_t *bytes = binary_at(file, r->vaddr, r->expected_bytes);
	uint64_t at = r->vaddr + r->skip, end = at + r->displaced;
	unsigned used = 0;
	bool ended = false;

	if (!bytes || memcmp(bytes, r->expected, r->expected_bytes) != 0 ||
	    r->displaced < SHINY_PATCH_JUMP || r->expected_bytes < r->skip + r->displaced)
		return "its numbers are wrong";
	memcpy(code, r->code, sizeof(code));
	for (unsigned i = 0; i < r->fixup_count; i++) {
		int32_t distance = (int32_t)(r->fixups[i].target - (place + r->fixups[i].next));

		memcpy(code + r->fixups[i].at, &distance, sizeof(distance));
	}
	while (at < end) {
		const uint8_t *original = bytes + (at - r->vaddr);
		struct instruction a, b;
		const char *why;

		if (!decode(original, (size_t)(r->expected_bytes - (at - r->vaddr)), &a))
			return "its own code is none";
		if (ended) {
			if (a.decoded.mnemonic != ZYDIS_MNEMONIC_NOP &&
			    a.decoded.mnemonic != ZYDIS_MNEMONIC_INT3)
				return "it displaces what follows it";
		} else {
			unsigned call = a.decoded.meta.category == ZYDIS_CATEGORY_CALL
						? moved_call(&a, at, code + used,
							     r->code_bytes - used, place + used)
						: 0;

			if (a.decoded.meta.category == ZYDIS_CATEGORY_CALL) {
				if (!call || at + a.decoded.length != end)
					return "a call is another one";
				used += call;
				at += a.decoded.length;
				continue;
			}
			if (used >= r->code_bytes || !decode(code + used, r->code_bytes - used, &b))
				return "an instruction is missing";
			why = compare(&a, at, original, &b, place + used, code + used);
			if (why)
				return why;
			used += b.decoded.length;
			ended = a.decoded.meta.category == ZYDIS_CATEGORY_RET ||
				a.decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
				a.decoded.mnemonic == ZYDIS_MNEMONIC_UD2;
		}
		at += a.decoded.length;
	}
	return at != end || used != r->code_bytes ? "it is cut in the middle of an instruction"
						  : NULL;
}

struct counts {
	unsigned functions, made, wrong;
	char refused[8][80];
	unsigned times[8];
};

static void count_refusal(struct counts *c, const char *why)
{
	for (unsigned i = 0; i < 8; i++) {
		if (!c->refused[i][0])
			snprintf(c->refused[i], sizeof(c->refused[i]), "%s", why);
		if (strcmp(c->refused[i], why) == 0) {
			c->times[i]++;
			return;
		}
	}
}

static void try_file(const char *path)
{
	static const uint64_t places[] = { UINT64_C(0x10000000), UINT64_C(0x7fff0000) };
	struct counts c = { .functions = 0 };
	struct binary_bytes symbols, names;
	Elf64_Shdr table, strings;
	struct binary file;

	if (binary_open(&file, path) != BINARY_OK)
		return;
	if (!binary_section_typed(&file, SHT_DYNSYM, &table) ||
	    !binary_section(&file, table.sh_link, &strings)) {
		binary_close(&file);
		return;
	}
	symbols = binary_section_bytes(&file, &table);
	names = binary_section_bytes(&file, &strings);
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.bytes; at += sizeof(Elf64_Sym)) {
		struct shiny_patch_recipe recipe;
		Elf64_Sym symbol;
		const char *why;

		memcpy(&symbol, symbols.data + at, sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
		    !symbol.st_size)
			continue;
		c.functions++;
		why = patch_recipe_make(&file, symbol.st_value, symbol.st_value + symbol.st_size,
					&recipe);
		if (why) {
			count_refusal(&c, why);
			continue;
		}
		c.made++;
		for (unsigned p = 0; p < 2; p++) {
			why = read_back(&file, &recipe, places[p]);
			if (why && c.wrong++ < 3)
				printf("# %s: %s\n",
				       symbol.st_name < names.bytes
					       ? (const char *)names.data + symbol.st_name
					       : "?",
				       why);
		}
	}
	printf("# %s: %u of %u functions", path, c.made, c.functions);
	for (unsigned i = 0; i < 8 && c.times[i]; i++)
		printf("; %u: %s", c.times[i], c.refused[i]);
	printf("\n");
	check(path, !c.wrong, "see above");
	if (c.functions >= 500)
		checkf("most of them", c.made >= c.functions * 8 / 10, "%s: %u of %u", path, c.made,
		       c.functions);
	binary_close(&file);
}

static int each_library(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	if (info->dlpi_name[0] == '/')
		try_file(info->dlpi_name);
	return 0;
}

int main(int argc, char **argv)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (int i = 1; i < argc; i++) /* by hand, for others */
		try_file(argv[i]);
	if (argc < 2)
		dl_iterate_phdr(each_library, NULL);
	return failures != 0;
}
