/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_observe.h: sets PartitionAlloc's observer hooks, in an executable whose symbols have
 * told where.
 *
 * Runs: inside: find and install in the constructor; the hooks in the allocator, afterwards.
 * Signals: the hooks: as the program's malloc. Allocates: pages near the executable (patcher.c).
 * Threads: find, install: one. Hooks: any.
 */
#ifndef SI_PARTITION_OBSERVE_H
#define SI_PARTITION_OBSERVE_H

#include "../core/base.h"
#include "../patch/image.h"

/* True if there is a file for this executable (include/shiny/wire/observers.h), and its code in
 * memory is the file's. */
bool si_observers_find(char *const *environment, const struct si_image *image);

/* Stores our observers in the libraries whose files say where. `text` gets a clause for each. */
void si_partition_observe_libraries(char *const *environment, struct si_text *text);

/* Sets our observers. `text` gets one clause: how, or why not. */
void si_observers_install(const struct si_image *image, struct si_text *text);

#endif
