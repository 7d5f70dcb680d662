/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checked.h: records blocks of Chromium's classes with memory safety checks, which bypass the
 * dispatch chain.
 *
 * Runs: inside, in the constructor, while there is one thread. Signals: no. Allocates: a page near
 * the code, by mmap, kept if the patches are. Threads: one.
 */
#ifndef SI_CHECKED_H
#define SI_CHECKED_H

#include "probe_head.h"

/*
 * Patches the functions that the probe found for [start, end) of the executable; both or none.
 * Appends the outcome to `text`; nothing where the probe found none.
 */
void si_checked_attach(const struct shiny_probe_file *file, uintptr_t bias, uintptr_t start,
		       uintptr_t end, struct si_text *text);

#endif
