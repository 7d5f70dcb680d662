/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_file.h: a file that a verb makes: nothing is overwritten unasked, and no half of one
 * stays.
 *
 * Runs: CLI. Signals: no. Allocates: a path. Threads: one a file.
 */
#ifndef SHINY_OUTPUT_FILE_H
#define SHINY_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "../base/err.h"

struct output_file {
	FILE *out;
	const char *path;
	bool made; /* by us: it goes where writing fails */
};

/* An existing file is refused unless `force`. `path` stays the caller's. */
SHINY_MUST_CHECK struct shiny_err *output_file_open(const char *path, bool force,
						    struct output_file *file);
/* Closes it. `err`: of what wrote it, handed back; then, or where writing failed, a file that was
 * new is removed. */
SHINY_MUST_CHECK struct shiny_err *output_file_close(struct output_file *file,
						     struct shiny_err *err);

#endif
