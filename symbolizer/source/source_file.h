/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_file.h: what was found of a file's sources, kept in the user's cache by build-id.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: any; several processes may use one
 * cache.
 */
#ifndef SHINY_SYM_SOURCE_FILE_H
#define SHINY_SYM_SOURCE_FILE_H

#include "code_rules.h"
#include "source_callers.h"

/* Where it is kept, malloc'ed; NULL: the file has no build-id, or there is no such place. */
char *source_file_path(const struct binary *file, const char *cache_dir);

/* False: it is not there, or damaged, and nothing has changed. */
bool source_file_read(const char *path, const struct binary *file,
		      struct source_functions *functions, struct source_callees *callees,
		      struct code_labels *labels);
void source_file_write(const char *path, const struct binary *file,
		       const struct source_functions *functions,
		       const struct source_callees *callees, const struct code_labels *labels);

#endif
