/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_observe.h: PartitionAlloc's observer hooks, where symbols have told where to set them.
 *
 * Runs:      inside: find and install in the constructor; the hooks in the allocator, afterwards.
 * Signals:   the hooks: as the program's malloc.
 * Allocates: pages near the executable (patcher.c).
 * Threads:   find, install: one. Hooks: any.
 */
#ifndef SI_PARTITION_OBSERVE_H
#define SI_PARTITION_OBSERVE_H

#include "../core/base.h"
#include "../patch/image.h"

/* Is there a file for this executable (include/shiny/wire/observers.h), and is its code what the
 * file says? */
bool si_observers_find(char *const *environment, const struct si_image *image);

/* What was found is set. `text` gets one clause, how or why not. */
void si_observers_install(const struct si_image *image, struct si_text *text);

#endif
