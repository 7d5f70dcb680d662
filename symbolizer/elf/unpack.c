/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack.c: see unpack.h.
 *
 * elfutils 0.188 unpacks zlib in both forms (.zdebug_info, SHF_COMPRESSED), but not zstd, which
 * linkers write since 2022. If a file has such a section, all its .debug_ sections go into an ELF
 * file in memory, unpacked. A header may claim any size: memory is touched only as the content is
 * unpacked, and content of another size is refused.
 */
#include "unpack.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "section_image.h"

enum {
	PACKED_ZSTD = 2 /* ELFCOMPRESS_ZSTD, which this glibc's elf.h may lack */,
	SECTIONS_MAX = 64
};

struct unpacked {
	Elf *elf; /* the file */
	struct section_image image;
	struct binary_bytes sections[SECTIONS_MAX];
	const char *names[SECTIONS_MAX];
	void *owned[SECTIONS_MAX]; /* unpacked content, to free */
	size_t count, bytes;
};

static bool is_zstd(Elf_Scn *section, const GElf_Shdr *header)
{
	GElf_Chdr packed;

	return (header->sh_flags & SHF_COMPRESSED) && gelf_getchdr(section, &packed) &&
	       packed.ch_type == PACKED_ZSTD;
}

static const char *name_of(Elf *elf, size_t strings, Elf_Scn *section, GElf_Shdr *header)
{
	return gelf_getshdr(section, header) ? elf_strptr(elf, strings, header->sh_name) : NULL;
}

static bool is_debug(const char *name)
{
	return name && (!strncmp(name, ".debug_", 7) || !strcmp(name, ".gnu_debugaltlink"));
}

static bool has_zstd(Elf *elf, size_t strings)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (is_debug(name_of(elf, strings, section, &header)) && is_zstd(section, &header))
			return true;
	return false;
}

static bool unpack(struct unpacked *unpacked, Elf_Scn *section, struct binary_bytes *out)
{
	GElf_Chdr packed;
	Elf_Data *data = gelf_getchdr(section, &packed) ? elf_rawdata(section, NULL) : NULL;
	void *to;

	if (!data || data->d_size <= sizeof(Elf64_Chdr) ||
	    packed.ch_size > UNPACK_MAX - unpacked->bytes)
		return false;
	to = malloc(packed.ch_size ? packed.ch_size : 1);
	if (!to)
		return false;
	if (ZSTD_decompress(to, packed.ch_size, (char *)data->d_buf + sizeof(Elf64_Chdr),
			    data->d_size - sizeof(Elf64_Chdr)) != packed.ch_size) {
		free(to);
		return false;
	}
	unpacked->bytes += packed.ch_size;
	unpacked->owned[unpacked->count] = to;
	*out = (struct binary_bytes){ to, packed.ch_size };
	return true;
}

/* Collects the sections, without those that can't be unpacked, as libdw does. */
static void collect(struct unpacked *unpacked, size_t strings)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(unpacked->elf, section)) && unpacked->count < SECTIONS_MAX) {
		const char *name = name_of(unpacked->elf, strings, section, &header);
		struct binary_bytes content = { 0 };

		if (!is_debug(name) || header.sh_type == SHT_NOBITS)
			continue;
		if (is_zstd(section, &header)) {
			if (!unpack(unpacked, section, &content))
				continue;
		} else {
			Elf_Data *data;

			if ((header.sh_flags & SHF_COMPRESSED) && elf_compress(section, 0, 0) < 0)
				continue;
			data = elf_getdata(section, NULL);
			if (!data || !data->d_buf)
				continue;
			content = (struct binary_bytes){ data->d_buf, data->d_size };
		}
		unpacked->names[unpacked->count] = name;
		unpacked->sections[unpacked->count++] = content;
	}
}

Dwarf *unpacked_begin(int fd, struct unpacked **out)
{
	struct unpacked *unpacked;
	size_t strings;
	Elf *elf;

	*out = NULL;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &strings) ||
	    !has_zstd(elf, strings)) {
		elf_end(elf);
		return dwarf_begin(fd, DWARF_C_READ);
	}
	unpacked = calloc(1, sizeof(*unpacked));
	if (!unpacked) {
		elf_end(elf);
		return NULL;
	}
	unpacked->elf = elf;
	collect(unpacked, strings);
	if (!section_image_open(&unpacked->image, unpacked->sections, unpacked->names,
				unpacked->count)) {
		unpacked_end(NULL, unpacked);
		return NULL;
	}
	*out = unpacked;
	return unpacked->image.dwarf;
}

void unpacked_end(Dwarf *dwarf, struct unpacked *unpacked)
{
	if (!unpacked) {
		if (dwarf)
			dwarf_end(dwarf);
		return;
	}
	section_image_close(&unpacked->image);
	for (size_t i = 0; i < unpacked->count; i++)
		free(unpacked->owned[i]);
	elf_end(unpacked->elf);
	free(unpacked);
}
