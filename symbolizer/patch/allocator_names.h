/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_names.h: tells from its functions' names whether a file has an allocator of its own.
 *
 * Runs: sidecar. Signals: no. Allocates: maps the file during the call. Threads: one.
 */
#ifndef SHINY_SYM_ALLOCATOR_NAMES_H
#define SHINY_SYM_ALLOCATOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine_functions.h"

enum { ALLOCATOR_NAME = 64 };

/*
 * True: the file has an allocator; `name` receives the function that shows it. A shared library's
 * exported malloc doesn't count: the program's calls may reach another library's. False, too, if
 * the file is missing or has another build-id (0 bytes: any). `engines`: functions of engines'
 * heaps.
 */
bool allocator_names_one(const char *path, bool executable, const uint8_t *build_id,
			 size_t build_id_bytes, const struct engine_functions *engines,
			 char name[ALLOCATOR_NAME]);

#endif
