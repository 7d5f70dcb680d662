/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner_allocator.h: hooks an allocator inside the executable, and engines' own heaps in any module:
 * entry patches, by a file a module that was written outside.
 *
 * Runs: inside, in the constructor; its hooks afterwards, in front of the allocator's
 *            functions.
 * Signals: the hooks: as the program's malloc. Allocates: near the code, two pages. Threads:
 * attach: before there are others. Hooks: any.
 */
#ifndef SI_INNER_ALLOCATOR_H
#define SI_INNER_ALLOCATOR_H

#include <stdbool.h>

#include "../core/base.h"

/*
 * Patches the entries of the file for this executable, all of them or none. True: they are patched;
 * `text` gets which. False: `text` gets the reason, or stays unchanged where there is no file.
 */
bool si_allocator_attach(char *const *environment, struct si_text *text);

/* Does the same for each library that is loaded, if it has an engine's heap, or SHINY_ALLOCATOR
 * names a file. */
void si_allocator_attach_libraries(char *const *environment, struct si_text *text);

/* True if the module exports an engine's main function (allocator.def). */
struct dl_phdr_info;
bool si_allocator_is_of_engine(const struct dl_phdr_info *info);

/* True if the module's file is there, and made with this SHINY_ALLOCATOR; or it is there and not to
 * be trusted. */
struct si_main_image;
bool si_allocator_is_prepared(char *const *environment, const struct si_main_image *image);

/* True if SHINY_ALLOCATOR names a file. */
bool si_allocator_from_file(void);

#endif
