/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe_file.h: the file about a module's allocator (include/shiny/wire/allocator.h), read and
 * checked.
 *
 * Runs: inside, in the constructor, and in the thread that opens a library. Signals: no. Allocates:
 * the file's memory, by mmap. Threads: any.
 */
#ifndef SI_RECIPE_FILE_H
#define SI_RECIPE_FILE_H

#include <stdbool.h>

#include <shiny/wire/allocator.h>

#include "../core/base.h"
#include "../unwind/main_image.h"

/* A module's file, mapped. */
struct si_recipe_file {
	int fd;                         /* negative: there is no file, or it is refused */
	struct shiny_allocator_file *f; /* NULL: it cannot be read */
};

/* Says that a file was made with another SHINY_ALLOCATOR. */
SI_INTERNAL const char si_recipe_other_setting[];

/* Opens the file about the module. `setting_time`: the time of the file that SHINY_ALLOCATOR names,
 * in ns. Returns NULL, or what is wrong with it; `why` gets its name, and why it is refused. */
const char *si_recipe_open(char *const *environment, const struct si_main_image *image,
			   uint64_t setting_time, struct si_recipe_file *file, struct si_text *why);
void si_recipe_close(struct si_recipe_file *file);

/* True if a good file's functions are about types, and none of an allocator. */
bool si_recipe_is_about_types(const struct shiny_allocator_file *f);

#endif
