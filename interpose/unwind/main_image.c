/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "main_image.h"

#include <link.h>

#include "modules.h"

void si_image_of(const struct dl_phdr_info *info, struct si_main_image *image)
{
	uintptr_t relro = 0;

	*image = (struct si_main_image){ .bias = info->dlpi_addr, .start = UINTPTR_MAX };
	image->build_id_bytes = si_build_id(info, image->build_id);
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
			relro = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
				info->dlpi_phdr[i].p_memsz;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;

		if (p->p_type != PT_LOAD)
			continue;
		image->start = start < image->start ? start : image->start;
		image->end = end > image->end ? end : image->end;
		if (!(p->p_flags & PF_W) || end <= relro)
			continue;
		start = start < relro ? relro : start;
		if (end - start > image->written_end - image->written_start) {
			image->written_start = start;
			image->written_end = end;
		}
	}
}

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	si_image_of(info, context);
	return 1; /* the executable comes first */
}

void si_main_image(struct si_main_image *image)
{
	*image = (struct si_main_image){ 0 };
	dl_iterate_phdr(look, image);
}
