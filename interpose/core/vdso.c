/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vdso.c: see vdso.h. Newer kernels' vdso has no DT_HASH, which would give the number of symbols.
 * Then the symbols end where the strings begin, as linkers lay them out.
 */
#include "vdso.h"

#include <elf.h>
#include <sys/auxv.h>

static const char wanted[] = "__vdso_clock_gettime";

static bool is_wanted(const char *name)
{
	size_t i = 0;

	while (i < sizeof(wanted) && name[i] == wanted[i])
		i++;
	return i == sizeof(wanted);
}

si_clock_gettime *si_vdso_clock_gettime(void)
{
	uintptr_t base = getauxval(AT_SYSINFO_EHDR), bias = 0;
	const Elf64_Ehdr *header = (const void *)base;
	const Elf64_Phdr *segment = (const void *)(base + (base ? header->e_phoff : 0));
	const Elf64_Dyn *dynamic = NULL;
	const Elf64_Sym *symbol = NULL;
	const char *strings = NULL;
	size_t count = 0;

	for (unsigned i = 0; base && i < header->e_phnum; i++, segment++) {
		if (segment->p_type == PT_LOAD)
			bias = base + segment->p_offset - segment->p_vaddr;
		if (segment->p_type == PT_DYNAMIC)
			dynamic = (const void *)(base + segment->p_offset);
	}
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		const void *at = (const void *)(bias + dynamic->d_un.d_ptr);

		if (dynamic->d_tag == DT_SYMTAB)
			symbol = at;
		else if (dynamic->d_tag == DT_STRTAB)
			strings = at;
		else if (dynamic->d_tag == DT_HASH)
			count = ((const Elf64_Word *)at)[1];
	}
	if (!symbol || !strings)
		return NULL;
	if (!count && (uintptr_t)strings > (uintptr_t)symbol)
		count = ((uintptr_t)strings - (uintptr_t)symbol) / sizeof(*symbol);
	for (; count; count--, symbol++)
		if (symbol->st_shndx != SHN_UNDEF && is_wanted(strings + symbol->st_name))
			return (si_clock_gettime *)(bias + symbol->st_value);
	return NULL;
}
