/* SPDX-License-Identifier: Apache-2.0 */
/* image.c: see image.h. */
#define _GNU_SOURCE
#include "image.h"

#include <link.h>

static void add_segment(struct si_image *image, uintptr_t start, uintptr_t end, bool executable,
			bool writable)
{
	if (start < end && image->segments < SI_SEGMENTS_MAX)
		image->segment[image->segments++] = (struct si_segment){
			.start = start, .end = end, .executable = executable, .writable = writable
		};
}

/* Reads the executable, which comes first, and stops. The part made read-only after relocation
 * becomes a segment of its own. */
static int read_image(struct dl_phdr_info *info, size_t size, void *out)
{
	struct si_image *image = out;
	uintptr_t ro = 0, ro_end = 0;

	(void)size;
	image->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
			ro = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			ro_end = ro + info->dlpi_phdr[i].p_memsz;
		}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;
		bool writable = p->p_flags & PF_W, executable = p->p_flags & PF_X;

		if (p->p_type != PT_LOAD)
			continue;
		/* lld lets it extend to the end of the page, beyond the segment */
		if (ro >= start && ro < end && ro < ro_end) {
			uintptr_t last = ro_end < end ? ro_end : end;

			add_segment(image, start, ro, executable, writable);
			add_segment(image, ro, last, executable, false);
			add_segment(image, last, end, executable, writable);
		} else {
			add_segment(image, start, end, executable, writable);
		}
	}
	return 1;
}

void si_image_read(struct si_image *image)
{
	*image = (struct si_image){ 0 };
	dl_iterate_phdr(read_image, image);
}
