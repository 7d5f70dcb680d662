/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_names.h: whether a file has an allocator of its own, by the names of its functions.
 *
 * Runs: sidecar. Signals: no. Allocates: the file is mapped meanwhile. Threads: one.
 */
#ifndef SHINY_SYM_ALLOCATOR_NAMES_H
#define SHINY_SYM_ALLOCATOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ALLOCATOR_NAME = 64 };

/*
 * True: `name` gets the function that shows it. A shared library's exported malloc is none: the
 * program's calls of that name reach whoever comes first. False, too, where the file is gone or is
 * not the one with this build-id (0 bytes: any).
 */
bool allocator_names_one(const char *path, bool executable, const uint8_t *build_id,
			 size_t build_id_bytes, char name[ALLOCATOR_NAME]);

#endif
