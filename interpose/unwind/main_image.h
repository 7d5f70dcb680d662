/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main_image.h: describes the executable, or another module, as it is mapped, for code that patches
 * it.
 *
 * Runs: inside, in the constructor. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SI_MAIN_IMAGE_H
#define SI_MAIN_IMAGE_H

#include <shiny/wire/wire.h>

#include "../core/base.h"

struct si_main_image {
	uintptr_t bias, start, end;
	uintptr_t written_start, written_end; /* the largest part that stays writable; equal:
	                                       * none */
	uint8_t build_id[SHINY_BUILD_ID_MAX];
	uint16_t build_id_bytes; /* 0: it has none */
};

void si_main_image(struct si_main_image *image);

/* Does the same for a module that dl_iterate_phdr reports. */
struct dl_phdr_info;
void si_image_of(const struct dl_phdr_info *info, struct si_main_image *image);

#endif
