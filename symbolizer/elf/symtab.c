/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symtab.c: see symtab.h.
 *
 * A symbol covers [value, value + size) and nothing else: in a stripped file, where .dynsym names
 * one function in a hundred, the nearest symbol below an address is the wrong one. Hand-written
 * assembly has symbols without size; those reach to the next symbol of their section, or to its
 * end. Symbols can nest (an entry inside of a larger one), so `reach` tells a search backwards when
 * to stop.
 */
#include "symtab.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/row_order.h"

/* A hostile table could nest every symbol in the first one. */
#define SEARCH_MAX 4096

enum { RANK_WEAK = 1, RANK_LOCAL = 2, RANK_NO_TYPE = 4, RANK_NO_SIZE = 8 };

static bool symbols_push(struct symbols *symbols, const struct symbol *symbol)
{
	if (symbols->count == symbols->room) {
		size_t room = symbols->room ? symbols->room * 2 : 256;
		struct symbol *at = reallocarray(symbols->at, room, sizeof(*at));

		if (!at)
			return false;
		symbols->at = at;
		symbols->room = room;
	}
	symbols->at[symbols->count++] = *symbol;
	return true;
}

void symtab_add(struct symtab *table, const struct binary *file, const Elf64_Shdr *section)
{
	Elf64_Shdr strings;
	struct binary_bytes symbols = binary_section_bytes(file, section);

	if (!binary_section(file, section->sh_link, &strings))
		return;

	struct binary_bytes text = binary_section_bytes(file, &strings);

	/* a last byte of zero ends every name */
	while (text.bytes && text.data[text.bytes - 1])
		text.bytes--;
	for (size_t i = 1; i < symbols.bytes / sizeof(Elf64_Sym); i++) {
		Elf64_Sym raw;

		memcpy(&raw, symbols.data + i * sizeof(raw), sizeof(raw));

		unsigned type = ELF64_ST_TYPE(raw.st_info), bind = ELF64_ST_BIND(raw.st_info);
		bool code;

		if (raw.st_shndx == SHN_UNDEF || raw.st_shndx == SHN_ABS ||
		    raw.st_shndx == SHN_COMMON || !raw.st_name || raw.st_name >= text.bytes)
			continue;
		if (type == STT_FUNC || type == STT_GNU_IFUNC)
			code = true;
		else if (type == STT_OBJECT)
			code = false;
		else if (type == STT_NOTYPE) {
			Elf64_Shdr home;

			if (!binary_section(file, raw.st_shndx, &home))
				continue;
			code = home.sh_flags & SHF_EXECINSTR;
			if (!code && !raw.st_size)
				continue; /* linker's marks: __bss_start, _edata */
		} else {
			continue;
		}

		struct symbol symbol = {
			.value = raw.st_value,
			.name = (const char *)text.data + raw.st_name,
			.size = raw.st_size > UINT32_MAX ? UINT32_MAX : (uint32_t)raw.st_size,
			.section = raw.st_shndx,
			.rank = (uint8_t)((bind == STB_LOCAL  ? RANK_LOCAL
					   : bind == STB_WEAK ? RANK_WEAK
							      : 0) +
					  (type == STT_NOTYPE ? RANK_NO_TYPE : 0) +
					  (raw.st_size ? 0 : RANK_NO_SIZE)),
		};

		if (!*symbol.name)
			continue;
		if (!symbols_push(code ? &table->functions : &table->objects, &symbol)) {
			table->failed = true;
			return;
		}
	}
}

/* Sorts the better name of one address last: by rank, then the shorter, then the alphabet, so that
 * the choice never depends on the file. */
ORDER_BY(compare, struct symbol,
	 ORDER_UP(value) ?: ORDER_DOWN(rank) ?: ORDER_VALUES(strlen(b->name), strlen(a->name)) ?:
	 -ORDER_TEXT(name))

static void finish(struct symbols *symbols, const struct binary *file)
{
	uint64_t next = 0, reach = 0;

	if (symbols->count)
		qsort(symbols->at, symbols->count, sizeof(*symbols->at), compare);
	for (size_t i = symbols->count; i-- > 0;) {
		struct symbol *symbol = &symbols->at[i];
		Elf64_Shdr home;

		if (i + 1 < symbols->count && symbols->at[i + 1].value > symbol->value)
			next = symbols->at[i + 1].value;
		if (symbol->size || !binary_section(file, symbol->section, &home))
			continue;

		uint64_t end = home.sh_addr + home.sh_size;

		if (end <= symbol->value || home.sh_addr > symbol->value)
			continue;
		if (next > symbol->value && next < end)
			end = next;
		symbol->size = end - symbol->value > UINT32_MAX ? UINT32_MAX
								: (uint32_t)(end - symbol->value);
	}
	for (size_t i = 0; i < symbols->count; i++) {
		if (symbols->at[i].value + symbols->at[i].size > reach)
			reach = symbols->at[i].value + symbols->at[i].size;
		symbols->at[i].reach = reach;
	}
}

void symtab_finish(struct symtab *table, const struct binary *file)
{
	finish(&table->functions, file);
	finish(&table->objects, file);
}

void symtab_deinit(struct symtab *table)
{
	free(table->functions.at);
	free(table->objects.at);
	memset(table, 0, sizeof(*table));
}

const struct symbol *symbols_find(const struct symbols *symbols, uint64_t vaddr)
{
	size_t low;

	/* first symbol that starts after vaddr */
	low = lower_bound(symbols->count, i, symbols->at[i].value <= vaddr);
	for (size_t steps = 0; low-- > 0 && symbols->at[low].reach > vaddr && steps < SEARCH_MAX;
	     steps++)
		if (vaddr - symbols->at[low].value < symbols->at[low].size)
			return &symbols->at[low];
	return NULL;
}

bool symbol_is_global(const struct symbol *symbol)
{
	return !(symbol->rank & RANK_LOCAL);
}
