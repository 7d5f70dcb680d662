/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner_allocator.h: hooks an allocator inside the executable: entry patches, by a file that was
 * written outside.
 *
 * Runs: inside, in the constructor; its hooks afterwards, in front of the allocator's
 *            functions.
 * Signals: the hooks: as the program's malloc. Allocates: near the code, two pages. Threads:
 * attach: before there are others. Hooks: any.
 */
#ifndef SI_INNER_ALLOCATOR_H
#define SI_INNER_ALLOCATOR_H

#include "../core/base.h"

/*
 * Patches the entries of the file for this executable, all of them or none. True: they are patched;
 * `text` gets which. False: `text` gets the reason, or stays unchanged where there is no file.
 */
bool si_allocator_attach(char *const *environment, struct si_text *text);

#endif
