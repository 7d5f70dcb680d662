/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_image.h: builds an ELF file in memory from a split unit, which libdw can read by itself.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the unit's .debug_info and abbreviations. Threads:
 * one at a time.
 */
#ifndef SHINY_SYM_SPLIT_IMAGE_H
#define SHINY_SYM_SPLIT_IMAGE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "dwp.h"
#include "../elf/section_image.h"

/* A split unit's data in the file with its skeleton. */
struct split_base {
	uint64_t id;
	unsigned version;
	uint64_t low_pc;         /* 0: none */
	struct binary_bytes addr; /* .debug_addr, from the unit's base on */
	struct binary_bytes ranges; /* DWARF 4: .debug_ranges, from the unit's base on */
};

struct split_image {
	struct section_image elf;
	uint8_t *info, *abbrev, *addr;
};

/* The pieces must outlive the image. False: they form no unit with that id. */
bool split_image_create(const struct dwp *dwp, const struct dwp_parts *parts,
			const struct split_base *base, struct split_image *out, Dwarf_Die *unit);
void split_image_destroy(struct split_image *image);

#endif
