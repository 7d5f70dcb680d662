/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.c: see symbols.h. The formats are described in the System V gABI, chapter 5, and
 * DT_GNU_HASH in the comments of glibc's and binutils' readers. */
#define _GNU_SOURCE
#include "symbols.h"

#include <dlfcn.h>
#include <elf.h>

#include "../core/base.h"

enum { HIDDEN = 0x8000, INDEX = 0x7fff, GLOBAL = 1, WORD_BITS = 64, NO_ADDRESS = 1 << 16 };

/* glibc makes the addresses of a dynamic section absolute if it can write to it: not in the
 * kernel's own module, which is small. Our copy of a library's symbols may lie below it. */
static const void *at(const struct si_symbols *s, const ElfW(Dyn) *entry)
{
	uintptr_t address = entry->d_un.d_ptr;

	return (const void *)(address < NO_ADDRESS ? address + s->bias : address);
}

ElfW(Dyn) *si_dynamic_of(const struct dl_phdr_info *module)
{
	for (unsigned i = 0; i < module->dlpi_phnum; i++)
		if (module->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (ElfW(Dyn) *)(module->dlpi_addr + module->dlpi_phdr[i].p_vaddr);
	return NULL;
}

bool si_symbols_read(const ElfW(Dyn) *dynamic, uintptr_t bias, struct si_symbols *out)
{
	struct si_symbols s = { .bias = bias };
	size_t soname = 0;

	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
		switch (dynamic->d_tag) {
		case DT_SYMTAB:
			s.table = at(&s, dynamic);
			break;
		case DT_STRTAB:
			s.names = at(&s, dynamic);
			break;
		case DT_SONAME:
			soname = dynamic->d_un.d_val;
			break;
		case DT_RELA:
			s.rela = at(&s, dynamic);
			break;
		case DT_RELASZ:
			s.rela_bytes = dynamic->d_un.d_val;
			break;
		case DT_JMPREL:
			s.plt = at(&s, dynamic);
			break;
		case DT_PLTRELSZ:
			s.plt_bytes = dynamic->d_un.d_val;
			break;
		case DT_GNU_HASH:
			s.gnu_hash = at(&s, dynamic);
			break;
		case DT_HASH:
			s.hash = at(&s, dynamic);
			break;
		case DT_VERSYM:
			s.versions = at(&s, dynamic);
			break;
		}
	if (!s.table || !s.names)
		return false;
	s.soname = soname ? s.names + soname : NULL;
	*out = s;
	return true;
}

/* A version other than the default one is hidden: only references that name it bind to it. */
static bool is_definition(const struct si_symbols *s, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &s->table[index];
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && type != STT_TLS &&
	       (type == STT_GNU_IFUNC || symbol->st_value || symbol->st_shndx == SHN_ABS) &&
	       (!s->versions || (s->versions[index] & INDEX) <= GLOBAL ||
		!(s->versions[index] & HIDDEN)) &&
	       si_equal(s->names + symbol->st_name, name);
}

/* Layout: number of buckets, the first symbol, words of the filter, its shift; the filter, the
 * buckets, the chains, whose last entry has its lowest bit set. */
static const ElfW(Sym) *find_gnu(const struct si_symbols *s, const char *name)
{
	uint32_t buckets = s->gnu_hash[0], first = s->gnu_hash[1], words = s->gnu_hash[2];
	const uint64_t *filter = (const uint64_t *)(s->gnu_hash + 4);
	const uint32_t *bucket = (const uint32_t *)(filter + words), *chain = bucket + buckets;
	uint32_t h = 5381, index;
	uint64_t word;

	for (const char *c = name; *c; c++)
		h = h * 33 + (unsigned char)*c;
	if (!buckets || !words)
		return NULL;
	word = filter[h / WORD_BITS % words];
	if (!(word >> h % WORD_BITS & word >> (h >> s->gnu_hash[3]) % WORD_BITS & 1))
		return NULL;
	index = bucket[h % buckets];
	for (bool last = index < first; !last; index++) {
		uint32_t chained = chain[index - first];

		if ((chained | 1) == (h | 1) && is_definition(s, index, name))
			return &s->table[index];
		last = chained & 1;
	}
	return NULL;
}

/* Layout: number of buckets, of symbols; the buckets, the chains. */
static const ElfW(Sym) *find_plain(const struct si_symbols *s, const char *name)
{
	uint32_t buckets = s->hash[0], h = 0, index;

	for (const char *c = name; *c; c++) {
		h = (h << 4) + (unsigned char)*c;
		h = (h ^ (h >> 24 & 0xf0)) & 0xfffffff;
	}
	for (index = buckets ? s->hash[2 + h % buckets] : 0; index;
	     index = s->hash[2 + buckets + index])
		if (is_definition(s, index, name))
			return &s->table[index];
	return NULL;
}

const ElfW(Sym) *si_symbols_find(const struct si_symbols *s, const char *name)
{
	return s->gnu_hash ? find_gnu(s, name) : s->hash ? find_plain(s, name) : NULL;
}

uint32_t si_symbols_end(const struct si_symbols *s)
{
	const uint32_t *bucket, *chain;
	uint32_t first, end = 0;

	if (!s->gnu_hash)
		return s->hash ? s->hash[1] : 0;
	first = s->gnu_hash[1];
	bucket = s->gnu_hash + 4 + 2 * (size_t)s->gnu_hash[2];
	chain = bucket + s->gnu_hash[0];
	for (uint32_t i = 0; i < s->gnu_hash[0]; i++)
		end = bucket[i] > end ? bucket[i] : end;
	if (end < first)
		return 0;
	while (!(chain[end - first] & 1))
		end++;
	return end + 1;
}

void *si_symbol_in(const struct link_map *module, const char *name)
{
	const ElfW(Sym) *symbol;
	struct si_symbols s;
	uintptr_t address;

	if (!si_symbols_read(module->l_ld, module->l_addr, &s))
		return NULL;
	symbol = si_symbols_find(&s, name);
	if (!symbol)
		return NULL;
	address = symbol->st_shndx == SHN_ABS ? symbol->st_value : s.bias + symbol->st_value;
	if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		return ((void *(*)(void))address)();
	return (void *)address;
}

bool si_symbols_needed(const struct link_map *module)
{
	struct si_symbols own, other;

	if (!si_symbols_read(module->l_ld, module->l_addr, &own))
		return false;
	if (!own.soname) /* without a name other modules need it by its path */
		own.soname = si_base_name(module->l_name);
	for (const struct link_map *m = si_first_module(module); m; m = m->l_next) {
		if (!si_symbols_read(m->l_ld, m->l_addr, &other))
			continue;
		for (const ElfW(Dyn) *entry = m->l_ld; entry->d_tag != DT_NULL; entry++)
			if (entry->d_tag == DT_NEEDED &&
			    si_equal(si_base_name(other.names + entry->d_un.d_val), own.soname))
				return true;
	}
	return false;
}

/* dladdr would also search the symbol table: 50 us in one of libstdc++'s size. */
const struct link_map *si_module_of(const void *address)
{
	struct dl_find_object found;

	return address && _dl_find_object((void *)(uintptr_t)address, &found) == 0
		       ? found.dlfo_link_map
		       : NULL;
}

const struct link_map *si_first_module(const struct link_map *any)
{
	while (any->l_prev)
		any = any->l_prev;
	return any;
}
