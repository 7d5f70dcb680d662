/* SPDX-License-Identifier: Apache-2.0 */
/* section_image.c: see section_image.h. */
#include "section_image.h"

#include <stdlib.h>
#include <string.h>

bool section_image_open(struct section_image *image, const struct binary_bytes *sections,
			const char *const *names, size_t count)
{
	static const char last[] = ".shstrtab";
	size_t text = sizeof(Elf64_Ehdr) + (count + 2) * sizeof(Elf64_Shdr),
	       room = 1 + sizeof(last), used = 1;
	Elf_Scn *section = NULL;
	Elf64_Ehdr *header;
	Elf64_Shdr *table;

	*image = (struct section_image){ .file = NULL };
	for (size_t i = 0; i < count; i++)
		room += strlen(names[i]) + 1;
	image->file = calloc(1, text + room);
	if (!image->file)
		return false;
	header = (Elf64_Ehdr *)image->file;
	table = (Elf64_Shdr *)(image->file + sizeof(*header));
	*header = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					     ELFDATA2LSB, EV_CURRENT },
				.e_type = ET_REL,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_shoff = sizeof(*header),
				.e_ehsize = sizeof(*header),
				.e_shentsize = sizeof(*table),
				.e_shnum = (Elf64_Half)(count + 2),
				.e_shstrndx = (Elf64_Half)(count + 1) };
	for (size_t i = 0; i <= count; i++) {
		const char *name = i < count ? names[i] : last;

		table[i + 1] = (Elf64_Shdr){ .sh_name = (Elf64_Word)used,
					     .sh_type = i < count ? SHT_PROGBITS : SHT_STRTAB,
					     .sh_offset = text,
					     .sh_size = i < count ? 1 : room,
					     .sh_addralign = 1 };
		strcpy((char *)image->file + text + used, name);
		used += strlen(name) + 1;
	}
	elf_version(EV_CURRENT);
	image->elf = elf_memory((char *)image->file, text + room);
	for (size_t i = 0; image->elf && i < count; i++) {
		Elf_Data *data;

		section = elf_nextscn(image->elf, section);
		data = section ? elf_getdata(section, NULL) : NULL;
		if (!data)
			return false;
		data->d_buf = (void *)sections[i].data;
		data->d_size = sections[i].bytes;
	}
	image->dwarf = image->elf ? dwarf_begin_elf(image->elf, DWARF_C_READ, NULL) : NULL;
	return image->dwarf;
}

void section_image_close(struct section_image *image)
{
	if (image->dwarf)
		dwarf_end(image->dwarf);
	if (image->elf)
		elf_end(image->elf);
	free(image->file);
	*image = (struct section_image){ .file = NULL };
}
