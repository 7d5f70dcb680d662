/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwp.c: see dwp.h.
 *
 * A .dwp contains the sections of many .dwo files, and two indexes (DWARF 5 section 7.3.5; the GNU
 * form for DWARF 4 has the same layout and other section numbers): a hash table from a unit's id to
 * a row, and for each row the offset and the size of its part of each section. Everything is
 * little-endian; every number is checked against the section that it points into.
 */
#include "dwp.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#define INFO ".debug_info.dwo"

enum { INDEX_HEADER = 16, COLUMNS_MAX = 64 };

static uint32_t u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Returns the part that a column of the index is; -1: an unused one. */
static int part_of(uint32_t section, bool gnu)
{
	static const int v5[] = {
		[1] = DWP_INFO,	       [3] = DWP_ABBREV, [4] = DWP_LINE,    [5] = DWP_LOCLISTS,
		[6] = DWP_STR_OFFSETS, [7] = -1,	 [8] = DWP_RNGLISTS
	};
	static const int v4[] = {
		[1] = DWP_INFO,	       [3] = DWP_ABBREV, [4] = DWP_LINE, [5] = DWP_LOC,
		[6] = DWP_STR_OFFSETS, [7] = -1,	 [8] = -1
	};

	if (section < 1 || section > 8 || section == 2)
		return -1;
	return gnu ? v4[section] : v5[section];
}

/* Reads an index, which may be absent. False: it makes no sense. */
static bool read_index(struct binary_bytes section, struct dwp_index *out)
{
	struct dwp_index index = { .row_count = 0 };

	if (!section.data)
		return true;
	if (section.bytes < INDEX_HEADER)
		return false;

	/* DWARF 5 has 2 bytes of version and 2 of padding, the GNU form 4 bytes of version */
	uint32_t version = u32(section.data) & 0xffff;
	uint64_t need;

	index.column_count = u32(section.data + 4);
	index.row_count = u32(section.data + 8);
	index.slot_count = u32(section.data + 12);
	if ((version != 2 && version != 5) || index.column_count > COLUMNS_MAX ||
	    (index.slot_count & (index.slot_count - 1)))
		return false;
	need = INDEX_HEADER + (uint64_t)index.slot_count * 12 +
	       4 * (uint64_t)index.column_count * (1 + 2 * (uint64_t)index.row_count);
	if (need > section.bytes)
		return false;
	index.slots = section.data + INDEX_HEADER;
	index.rows = index.slots + 8 * (size_t)index.slot_count;

	const uint8_t *columns = index.rows + 4 * (size_t)index.slot_count;

	index.offsets = columns + 4 * (size_t)index.column_count;
	index.sizes = index.offsets + 4 * (size_t)index.column_count * index.row_count;
	for (int i = 0; i < DWP_PARTS; i++)
		index.column[i] = -1;
	for (uint32_t i = 0; i < index.column_count; i++) {
		int part = part_of(u32(columns + 4 * (size_t)i), version == 2);

		if (part >= 0)
			index.column[part] = (int)i;
	}
	*out = index;
	return true;
}

const char *dwp_open(struct dwp *dwp, const char *path)
{
	static const char *const names[DWP_PARTS] = {
		[DWP_INFO] = INFO,
		[DWP_ABBREV] = ".debug_abbrev.dwo",
		[DWP_LINE] = ".debug_line.dwo",
		[DWP_LOC] = ".debug_loc.dwo",
		[DWP_LOCLISTS] = ".debug_loclists.dwo",
		[DWP_STR_OFFSETS] = ".debug_str_offsets.dwo",
		[DWP_RNGLISTS] = ".debug_rnglists.dwo",
		[DWP_STR] = ".debug_str.dwo",
	};
	struct binary_bytes units = { 0 }, types = { 0 };
	Elf_Scn *section = NULL;
	size_t strings;

	*dwp = (struct dwp){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) };
	if (dwp->fd < 0)
		return DWP_MISSING;
	elf_version(EV_CURRENT);
	dwp->elf = elf_begin(dwp->fd, ELF_C_READ_MMAP, NULL);
	if (!dwp->elf || elf_kind(dwp->elf) != ELF_K_ELF || elf_getshdrstrndx(dwp->elf, &strings)) {
		dwp_close(dwp);
		return "not an ELF file";
	}
	while ((section = elf_nextscn(dwp->elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(dwp->elf, strings, header.sh_name)
					   : NULL;
		struct binary_bytes *into = NULL;
		Elf_Data *data;

		for (int i = 0; name && i < DWP_PARTS; i++)
			if (!strcmp(name, names[i]))
				into = &dwp->whole.at[i];
		if (name && !strcmp(name, ".debug_cu_index"))
			into = &units;
		if (name && !strcmp(name, ".debug_tu_index"))
			into = &types;
		if (!into || header.sh_type == SHT_NOBITS)
			continue;
		if ((header.sh_flags & SHF_COMPRESSED) && elf_compress(section, 0, 0) < 0)
			continue;
		data = elf_getdata(section, NULL);
		if (data && data->d_buf)
			*into = (struct binary_bytes){ data->d_buf, data->d_size };
	}
	if (!dwp->whole.at[DWP_INFO].data || !dwp->whole.at[DWP_ABBREV].data ||
	    !read_index(units, &dwp->units) || !read_index(types, &dwp->types)) {
		dwp_close(dwp);
		return "damaged";
	}
	return NULL;
}

void dwp_close(struct dwp *dwp)
{
	if (dwp->elf)
		elf_end(dwp->elf);
	if (dwp->elf || dwp->fd > 0)
		close(dwp->fd);
	*dwp = (struct dwp){ .fd = -1 };
}

/* Returns the part of section `part` in row `row` (from 0) of an index. */
static struct binary_bytes contribution(const struct dwp *dwp, const struct dwp_index *index,
					uint32_t row, enum dwp_part part)
{
	size_t at = 4 * ((size_t)row * index->column_count + (size_t)index->column[part]);
	struct binary_bytes whole = dwp->whole.at[part];
	uint32_t offset, bytes;

	if (index->column[part] < 0 || !whole.data)
		return (struct binary_bytes){ 0 };
	offset = u32(index->offsets + at);
	bytes = u32(index->sizes + at);
	if (!bytes || offset > whole.bytes || bytes > whole.bytes - offset)
		return (struct binary_bytes){ 0 };
	return (struct binary_bytes){ whole.data + offset, bytes };
}

bool dwp_find(const struct dwp *dwp, uint64_t id, struct dwp_parts *out)
{
	const struct dwp_index *index = &dwp->units;
	uint32_t mask = index->slot_count - 1, slot = (uint32_t)id & mask,
		 step = ((uint32_t)(id >> 32) & mask) | 1, row = 0;

	if (!index->row_count) {
		*out = dwp->whole;
		return true;
	}
	for (uint32_t tries = 0; tries < index->slot_count && !row;
	     tries++, slot = (slot + step) & mask) {
		uint32_t here = u32(index->rows + 4 * (size_t)slot);

		if (!here)
			return false;
		if (u64(index->slots + 8 * (size_t)slot) == id)
			row = here;
	}
	if (!row || row > index->row_count)
		return false;
	for (int i = 0; i < DWP_PARTS; i++)
		out->at[i] = contribution(dwp, index, row - 1, (enum dwp_part)i);
	/* all units share the strings */
	out->at[DWP_STR] = dwp->whole.at[DWP_STR];
	return out->at[DWP_INFO].data && out->at[DWP_ABBREV].data;
}

/* Returns the `n`th .debug_info.dwo of a .dwo except the last one, which is the compilation unit's:
 * gcc puts each type unit in a section of its own. */
static struct binary_bytes type_section(const struct dwp *dwp, size_t n)
{
	Elf_Scn *section = NULL;
	size_t strings;

	if (elf_getshdrstrndx(dwp->elf, &strings))
		return (struct binary_bytes){ 0 };
	while ((section = elf_nextscn(dwp->elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(dwp->elf, strings, header.sh_name)
					   : NULL;
		Elf_Data *data;

		if (!name || strcmp(name, INFO) || header.sh_type == SHT_NOBITS || n--)
			continue;
		data = elf_getdata(section, NULL);
		return data && data->d_buf && data->d_buf != dwp->whole.at[DWP_INFO].data
			       ? (struct binary_bytes){ data->d_buf, data->d_size }
			       : (struct binary_bytes){ 0 };
	}
	return (struct binary_bytes){ 0 };
}

struct binary_bytes dwp_type_unit(const struct dwp *dwp, const struct dwp_parts *unit, size_t *at)
{
	if (!dwp->units.row_count)
		return type_section(dwp, (*at)++);
	while (*at < dwp->types.row_count) {
		uint32_t row = (uint32_t)(*at)++;

		if (contribution(dwp, &dwp->types, row, DWP_ABBREV).data ==
		    unit->at[DWP_ABBREV].data)
			return contribution(dwp, &dwp->types, row, DWP_INFO);
	}
	return (struct binary_bytes){ 0 };
}
