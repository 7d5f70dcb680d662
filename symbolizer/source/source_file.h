/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_file.h: caches what was found of a file's sources in the user's cache, by build-id.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: any; several processes may use one
 * cache.
 */
#ifndef SHINY_SYM_SOURCE_FILE_H
#define SHINY_SYM_SOURCE_FILE_H

#include "code_rules.h"
#include "source_callers.h"

/* Returns the path of the cache file, malloc'ed; NULL: the file has no build-id, or there is no
 * place for it. */
char *source_file_path(const struct binary *file, const char *cache_dir);

/* Reads the cache file. False: it is missing or damaged, and nothing has changed. */
bool source_file_read(const char *path, const struct binary *file,
		      struct source_functions *functions, struct source_callees *callees,
		      struct code_labels *labels);
void source_file_write(const char *path, const struct binary *file,
		       const struct source_functions *functions,
		       const struct source_callees *callees, const struct code_labels *labels);

#endif
