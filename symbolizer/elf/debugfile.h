/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debugfile.h: finds the file that holds what was stripped from another one.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: any.
 */
#ifndef SHINY_SYM_DEBUGFILE_H
#define SHINY_SYM_DEBUGFILE_H

#include <stdbool.h>

#include "binary.h"

/*
 * Finds the separate debug file of `file`, which was opened from `path`: by build-id, then by
 * .gnu_debuglink, in `debug_dirs` (NULL or NULL-terminated; each a directory or a debug file),
 * /usr/lib/debug and debuginfod's cache. On success `out` is open and `out_path` is its path,
 * malloc'ed.
 */
bool debugfile_find(const struct binary *file, const char *path, const char *const *debug_dirs,
		    struct binary *out, char **out_path);

/* Opens `path` if it is a debug file of `file`. Takes ownership of `path` (malloc'ed; NULL does
 * nothing). False: it is none. */
bool debugfile_open(const struct binary *file, char *path, struct binary *out, char **out_path);

/* Returns the path of the .debug file with this build-id, malloc'ed; NULL: there is none. */
char *debugfile_by_id(const uint8_t *build_id, size_t bytes, const char *const *debug_dirs);

/* Finds the build-id of the alternate file to which dwz moved parts of `file`. False: there is
 * none. */
bool debugfile_alternate(const struct binary *file, const uint8_t **id, size_t *bytes);

/* Opens .gnu_debugdata: a compressed ELF file with a symbol table, inside of `file`. */
bool debugfile_embedded(const struct binary *file, struct binary *out);

#endif
