/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner_allocator.h: hooks an allocator inside the executable, and engines' own heaps in any
 * module: entry patches, by a file a module that was written outside.
 *
 * Runs: inside, in the constructor, and in the thread that opens a library; its hooks afterwards,
 *            in front of the allocator's functions.
 * Signals: the hooks: as the program's malloc. Allocates: near the code, two pages. Threads:
 * attach: before there are others. Hooks: any.
 */
#ifndef SI_INNER_ALLOCATOR_H
#define SI_INNER_ALLOCATOR_H

#include <stdbool.h>

#include "../core/base.h"
#include "../unwind/main_image.h"

/*
 * Patches the entries of the file for this executable, all of them or none. True: they are patched;
 * `text` gets which. False: `text` gets the reason, or stays unchanged where there is no file. In a
 * program that runs already (late.h) the patches are left in si_allocator_patches.
 */
bool si_allocator_attach(char *const *environment, struct si_text *text);

struct si_patches;
SI_INTERNAL struct si_patches si_allocator_patches; /* of the executable */

/* Does the same for each library that si_allocator_modules lists. */
void si_allocator_attach_libraries(char *const *environment, struct si_text *text);

/* Does the same for a library that is opened later, if it has an engine's heap, or SHINY_ALLOCATOR
 * names a file. As loader_watch.h's `meet`. */
struct link_map;
void si_allocator_meet(const struct link_map *map, bool elsewhere);

enum { SI_ALLOCATOR_MODULES = 256 };
struct si_allocator_module {
	struct si_main_image image;
	const char *path; /* NULL: the executable */
	bool of_engine;   /* it exports an engine's main function (allocator.def), or
	                   * SHINY_ALLOCATOR names a file; or it is a library that may have Blink
	                   * in it */
};

/* Lists the executable, and the libraries that are `of_engine`. *out stays valid until the next
 * call. */
unsigned si_allocator_modules(const struct si_allocator_module **out);

/* True if the module's file is there, unless SHINY_ALLOCATOR names a file, and it was made with
 * another one. */
bool si_allocator_is_prepared(char *const *environment, const struct si_main_image *image);

#endif
