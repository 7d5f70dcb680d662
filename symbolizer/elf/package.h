/* SPDX-License-Identifier: Apache-2.0 */
/*
 * package.h: which Debian package a file came from, and where its debug information is.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: dpkg's lists of files (10 to 40 MB), while there is
 * one to look for. Threads: one at a time.
 */
#ifndef SHINY_SYM_PACKAGE_H
#define SHINY_SYM_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

struct packages;

struct packages *packages_create(void); /* reads nothing yet; NULL: no memory */
void packages_destroy(struct packages *packages); /* accepts NULL */

/* What to do to get debug information of `path`, as the end of a sentence, on one line. */
void packages_advice(struct packages *packages, const char *path, char *out, size_t room);

#endif
