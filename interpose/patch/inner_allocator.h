/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner_allocator.h: the way in to an allocator inside the executable: entry patches, by a file
 * that was made outside.
 *
 * Runs:      inside, in the constructor; its hooks afterwards, in front of the allocator's
 *            functions.
 * Signals:   the hooks: as the program's malloc.
 * Allocates: near the code, two pages.
 * Threads:   attach: before there are others. Hooks: any.
 */
#ifndef SI_INNER_ALLOCATOR_H
#define SI_INNER_ALLOCATOR_H

#include "../core/base.h"

/*
 * Patches what the file for this executable names, all of it or nothing. True: done; `text` gets
 * which functions. False: `text` gets why not, or stays as it is where there is no file.
 */
bool si_allocator_attach(char *const *environment, struct si_text *text);

#endif
