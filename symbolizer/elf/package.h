/* SPDX-License-Identifier: Apache-2.0 */
/*
 * package.h: which Debian package a file came from, and where its debug information is.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: dpkg's lists of files (10 to 40 MB), where the answer
 * for a file is not in the cache (cache_file.h). Threads: one at a time.
 */
#ifndef SHINY_SYM_PACKAGE_H
#define SHINY_SYM_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

struct binary;
struct packages;

/* Reads nothing yet. `cache_dir` as in cache_file_path(); the caller keeps it. NULL: no memory. */
struct packages *packages_create(const char *cache_dir, bool no_cache);
void packages_destroy(struct packages *packages); /* accepts NULL */

/* What to do to get debug information of `path`, which is open as `file`, as the end of a sentence,
 * on one line. */
void packages_advice(struct packages *packages, const char *path, const struct binary *file,
		     char *out, size_t room);

#endif
