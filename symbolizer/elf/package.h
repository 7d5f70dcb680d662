/* SPDX-License-Identifier: Apache-2.0 */
/*
 * package.h: finds the Debian package that a file came from, and the place of its debug
 * information.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: dpkg's lists of files (10 to 40 MB), if the answer
 * for a file is not in the cache (cache_file.h). Threads: one at a time.
 */
#ifndef SHINY_SYM_PACKAGE_H
#define SHINY_SYM_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

struct binary;
struct packages;

/* Reads nothing yet. `cache_dir` is as in cache_file_path(), and must outlive it. NULL: out of
 * memory. */
struct packages *packages_create(const char *cache_dir, bool no_cache);
void packages_destroy(struct packages *packages); /* accepts NULL */

/* Writes how to get debug information of `path`, which is open as `file`: the end of a sentence, on
 * one line. */
void packages_advice(struct packages *packages, const char *path, const struct binary *file,
		     char *out, size_t room);

#endif
