/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_image.h: an ELF file in memory for libdw to read; its sections may be anywhere.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the headers, not the content. Threads: one at a time.
 *
 * The file has sections of one byte each; libelf's descriptors are pointed at the real content
 * before libdw sees them.
 */
#ifndef SHINY_SYM_SECTION_IMAGE_H
#define SHINY_SYM_SECTION_IMAGE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binary.h"

struct section_image {
	uint8_t *file;
	Elf *elf;
	Dwarf *dwarf;
};

/* Opens an image of the sections, whose content must outlive it. False: libdw finds no DWARF in it;
 * close it in this case, too. */
bool section_image_open(struct section_image *image, const struct binary_bytes *sections,
			const char *const *names, size_t count);
void section_image_close(struct section_image *image); /* ends the Dwarf, too */

#endif
