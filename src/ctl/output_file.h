/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_file.h: writes a verb's output file: overwrites only with `force`, and leaves no partial
 * file.
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
	bool made; /* created by us: removed if writing fails */
};

/* Opens the file; an existing one is refused unless `force`. `path` must outlive it. */
SHINY_MUST_CHECK struct shiny_err *output_file_open(const char *path, bool force,
						    struct output_file *file);
/* Closes the file. `err`: the writer's error, which it returns; on that, or a failed write, it
 * removes a file that was new. */
SHINY_MUST_CHECK struct shiny_err *output_file_close(struct output_file *file,
						     struct shiny_err *err);

#endif
