/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reloc.c: see reloc.h.
 *
 * A vtable in a position-independent file is empty on disk: relocations fill its words. Three kinds
 * matter. R_X86_64_RELATIVE has the address as addend. R_X86_64_64 and its like have a symbol,
 * which is how a vtable points to another library's type-info. DT_RELR is a bitmap of words that
 * hold their address in place.
 *
 * Facts: Chromium 156 has 1,098,098 relative relocations (26 MB). lld and bfd write them first and
 * sorted, and DT_RELACOUNT gives their number, so they are searched in place; one pass checks that
 * they are sorted. The others (125 there; all of them in a file that isn't sorted) are copied, 24
 * bytes each, and sorted. DT_RELR is searched in place, with one entry for each run.
 *
 * Only the dynamic segment counts, because the loader reads it. Sections may be stripped or wrong.
 */
#include "reloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/row_order.h"

#ifndef DT_RELR /* since binutils 2.38 and glibc 2.36 */
#define DT_RELRSZ 35
#define DT_RELR 36
#endif

struct reloc_entry {
	uint64_t offset;
	uint64_t addend;
	uint32_t type;
	uint32_t symbol;
};

/* One address entry of DT_RELR and the bitmaps after it. */
struct relr_group {
	uint64_t start;
	size_t at; /* index of its first bitmap */
	size_t bitmaps;
};

struct dynamic {
	uint64_t rela, rela_bytes, rela_count, plt, plt_bytes, relr, relr_bytes, symbols, strings,
		string_bytes, soname, starts, start_bytes;
};

void reloc_index_init(struct reloc_index *index, const struct binary *file)
{
	memset(index, 0, sizeof(*index));
	index->file = file;
}

void reloc_index_deinit(struct reloc_index *index)
{
	free(index->sorted);
	free(index->groups);
	memset(index, 0, sizeof(*index));
}

static void read_dynamic(const struct binary *file, struct dynamic *out)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		const uint8_t *entries =
			segment->p_type == PT_DYNAMIC
				? binary_range(file, segment->p_offset, segment->p_filesz)
				: NULL;

		for (size_t at = 0; entries && segment->p_filesz - at >= sizeof(Elf64_Dyn);
		     at += sizeof(Elf64_Dyn)) {
			Elf64_Dyn entry;

			memcpy(&entry, entries + at, sizeof(entry));
			switch (entry.d_tag) {
			case DT_NULL: return;
			case DT_RELA: out->rela = entry.d_un.d_ptr; break;
			case DT_RELASZ: out->rela_bytes = entry.d_un.d_val; break;
			case DT_RELACOUNT: out->rela_count = entry.d_un.d_val; break;
			case DT_JMPREL: out->plt = entry.d_un.d_ptr; break;
			case DT_PLTRELSZ: out->plt_bytes = entry.d_un.d_val; break;
			case DT_RELR: out->relr = entry.d_un.d_ptr; break;
			case DT_RELRSZ: out->relr_bytes = entry.d_un.d_val; break;
			case DT_SYMTAB: out->symbols = entry.d_un.d_ptr; break;
			case DT_STRTAB: out->strings = entry.d_un.d_ptr; break;
			case DT_STRSZ: out->string_bytes = entry.d_un.d_val; break;
			case DT_SONAME: out->soname = entry.d_un.d_val; break;
			case DT_INIT_ARRAY: out->starts = entry.d_un.d_ptr; break;
			case DT_INIT_ARRAYSZ: out->start_bytes = entry.d_un.d_val; break;
			default: break;
			}
		}
	}
}

ORDER_BY(compare_offset, struct reloc_entry, ORDER_UP(offset))

/* Returns how many of the first `count` relocations are relative and in order: usually all. */
static size_t sorted_run(const Elf64_Rela *relocations, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ELF64_R_TYPE(relocations[i].r_info) != R_X86_64_RELATIVE ||
		    (i && relocations[i].r_offset <= relocations[i - 1].r_offset))
			return i;
	return count;
}

static size_t copy_table(struct reloc_entry *out, const Elf64_Rela *relocations, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = (struct reloc_entry){ relocations[i].r_offset,
					       (uint64_t)relocations[i].r_addend,
					       (uint32_t)ELF64_R_TYPE(relocations[i].r_info),
					       (uint32_t)ELF64_R_SYM(relocations[i].r_info) };
	return count;
}

/* Returns a table of the dynamic segment; NULL: it isn't in the file, or not aligned for reading in
 * place. */
static const void *table(const struct binary *file, uint64_t vaddr, uint64_t bytes)
{
	const void *data = bytes ? binary_at(file, vaddr, bytes) : NULL;

	return (uintptr_t)data % 8 ? NULL : data;
}

static void build_relr(struct reloc_index *index, const struct dynamic *dynamic)
{
	size_t groups = 0;

	index->relr = table(index->file, dynamic->relr, dynamic->relr_bytes);
	index->relr_count = index->relr ? dynamic->relr_bytes / 8 : 0;
	for (size_t i = 0; i < index->relr_count; i++)
		groups += !(index->relr[i] & 1);
	index->groups = groups ? calloc(groups, sizeof(*index->groups)) : NULL;
	for (size_t i = 0; index->groups && i < index->relr_count; i++) {
		if (!(index->relr[i] & 1)) {
			/* out of order: the search couldn't find it */
			if (index->group_count &&
			    index->relr[i] <= index->groups[index->group_count - 1].start)
				return;
			index->groups[index->group_count++] =
				(struct relr_group){ index->relr[i], i + 1, 0 };
		} else if (index->group_count) {
			index->groups[index->group_count - 1].bitmaps++;
		}
	}
}

static void build(struct reloc_index *index)
{
	const struct binary *file = index->file;
	struct dynamic dynamic = { 0 };

	index->built = true;
	read_dynamic(file, &dynamic);
	build_relr(index, &dynamic);

	const Elf64_Rela *rela = table(file, dynamic.rela, dynamic.rela_bytes);
	const Elf64_Rela *plt = table(file, dynamic.plt, dynamic.plt_bytes);
	size_t rela_count = rela ? dynamic.rela_bytes / sizeof(*rela) : 0;
	size_t plt_count = plt ? dynamic.plt_bytes / sizeof(*plt) : 0;
	size_t relative = dynamic.rela_count < rela_count ? dynamic.rela_count : rela_count;

	if (relative && sorted_run(rela, relative) == relative) {
		index->relative = rela;
		index->relative_count = relative;
	} else {
		relative = 0;
	}
	/* drop the pages of the pass: look-ups need few of them */
	if (rela && file->mapped) {
		uintptr_t from = ((uintptr_t)rela + 4095) & ~(uintptr_t)4095,
			  to = ((uintptr_t)(rela + rela_count)) & ~(uintptr_t)4095;

		if (to > from)
			madvise((void *)from, to - from, MADV_DONTNEED);
	}
	index->sorted = malloc((rela_count - relative + plt_count + 1) * sizeof(*index->sorted));
	if (index->sorted) {
		size_t count =
			rela ? copy_table(index->sorted, rela + relative, rela_count - relative)
			     : 0;

		count += copy_table(index->sorted + count, plt, plt_count);
		qsort(index->sorted, count, sizeof(*index->sorted), compare_offset);
		index->sorted_count = count;
	}

	/* the dynamic segment lacks the symbol table's size; the file's bytes after its start bound
	 * it */
	uint64_t room = binary_room(file, dynamic.symbols);

	index->symbols = room ? binary_at(file, dynamic.symbols, room) : NULL;
	index->symbol_count = room / sizeof(Elf64_Sym);
	index->strings = binary_at(file, dynamic.strings, dynamic.string_bytes);
	index->string_bytes = index->strings ? dynamic.string_bytes : 0;
	index->soname = dynamic.soname;
	index->starts = dynamic.starts;
	index->start_count = dynamic.start_bytes / 8;
}

static void build_once(struct reloc_index *index)
{
	if (!index->built)
		build(index);
}

const char *reloc_soname(struct reloc_index *index)
{
	build_once(index);
	return index->soname && index->soname < index->string_bytes &&
			       memchr(index->strings + index->soname, 0,
				      index->string_bytes - index->soname)
		       ? index->strings + index->soname
		       : NULL;
}

uint64_t reloc_start(struct reloc_index *index, size_t i)
{
	struct word word;

	build_once(index);
	if (i >= index->start_count)
		return 0;
	word = reloc_word(index, index->starts + i * 8);
	return word.kind == WORD_ADDRESS || word.kind == WORD_PLAIN ? word.value : 0;
}

static bool relr_has(const struct reloc_index *index, uint64_t vaddr)
{
	size_t low;

	/* the first group that starts after vaddr */
	low = lower_bound(index->group_count, i, index->groups[i].start <= vaddr);
	if (!low)
		return false;

	const struct relr_group *group = &index->groups[low - 1];
	uint64_t words = (vaddr - group->start) / 8;

	if ((vaddr - group->start) % 8)
		return false;
	if (!words)
		return true;
	words--; /* each bitmap stands for the next 63 words; bit 0 marks a bitmap */
	return words / 63 < group->bitmaps &&
	       (index->relr[group->at + words / 63] >> (words % 63 + 1) & 1);
}

static struct word symbolic(const struct reloc_index *index, const struct reloc_entry *entry)
{
	struct word word = { .kind = WORD_OTHER };
	Elf64_Sym symbol;

	if (!entry->symbol || entry->symbol >= index->symbol_count)
		return word;
	memcpy(&symbol, index->symbols + (size_t)entry->symbol * sizeof(symbol), sizeof(symbol));
	if (symbol.st_name < index->string_bytes &&
	    memchr(index->strings + symbol.st_name, 0, index->string_bytes - symbol.st_name))
		word.symbol = index->strings + symbol.st_name;
	word.kind = symbol.st_shndx == SHN_UNDEF ? WORD_IMPORT : WORD_ADDRESS;
	word.value = (symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value) + entry->addend;
	return word;
}

static struct word word_of(const struct reloc_index *index, const struct reloc_entry *entry)
{
	switch (entry->type) {
	case R_X86_64_RELATIVE: return (struct word){ WORD_ADDRESS, entry->addend, NULL };
	case R_X86_64_64:
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT: return symbolic(index, entry);
	default: return (struct word){ .kind = WORD_OTHER };
	}
}

struct word reloc_word(struct reloc_index *index, uint64_t vaddr)
{
	struct word word = { .kind = WORD_NONE };
	uint64_t value = 0;
	size_t at;
	bool in_file = binary_word(index->file, vaddr, &value);

	build_once(index);
	at = lower_bound(index->sorted_count, i, index->sorted[i].offset < vaddr);
	if (at < index->sorted_count && index->sorted[at].offset == vaddr)
		return word_of(index, &index->sorted[at]);
	at = lower_bound(index->relative_count, i, index->relative[i].r_offset < vaddr);
	if (at < index->relative_count && index->relative[at].r_offset == vaddr)
		return (struct word){ WORD_ADDRESS, (uint64_t)index->relative[at].r_addend, NULL };
	if (in_file)
		word = (struct word){ relr_has(index, vaddr) ? WORD_ADDRESS : WORD_PLAIN, value,
				      NULL };
	return word;
}

bool reloc_uses_libstdcxx(struct reloc_index *index)
{
	static const char *const thrown[] = { "_ZSt20__throw_length_errorPKc",
					      "_ZSt17__throw_bad_allocv",
					      "_ZSt28__throw_bad_array_new_lengthv" };

	if (index->asked_libstdcxx)
		return index->libstdcxx;
	index->asked_libstdcxx = true;
	build_once(index);
	for (size_t i = 0; i < index->sorted_count && !index->libstdcxx; i++) {
		const char *symbol = word_of(index, &index->sorted[i]).symbol;

		for (size_t k = 0; symbol && k < sizeof(thrown) / sizeof(*thrown); k++)
			index->libstdcxx |= !strcmp(symbol, thrown[k]);
	}
	return index->libstdcxx;
}
