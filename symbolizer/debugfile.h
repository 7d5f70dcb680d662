/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debugfile.h: the file that holds what was stripped from another one.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: any.
 */
#ifndef SHINY_SYM_DEBUGFILE_H
#define SHINY_SYM_DEBUGFILE_H

#include <stdbool.h>

#include "elf_file.h"

/*
 * Finds the separate debug file of `file`, which was opened from `path`: by build-id, then by .gnu_debuglink, in `debug_dirs` (NULL or
 * NULL-terminated) and /usr/lib/debug. On success `out` is open and `out_path` is its path, malloc'ed.
 */
bool debugfile_find(const struct elf_file *file, const char *path, const char *const *debug_dirs, struct elf_file *out,
		    char **out_path);

/* The .debug file with this build-id. The path is malloc'ed; NULL: there is none. */
char *debugfile_by_id(const uint8_t *build_id, size_t bytes, const char *const *debug_dirs);

/* .gnu_debugdata: a compressed ELF file with a symbol table, inside of `file`. */
bool debugfile_embedded(const struct elf_file *file, struct elf_file *out);

#endif
