/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h: one line on standard error during long work, after its first second: on a terminal
 * the line is updated, in a file or a pipe it is written once.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: one a progress.
 */
#ifndef SHINY_PROGRESS_H
#define SHINY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what; /* "resolving call sites" */
	uint64_t started, shown; /* ns, monotonic; shown 0: nothing shown yet */
	bool terminal, off;
};

void progress_begin(struct progress *progress, const char *what, bool enabled);
/* total 0: unknown. Cheap enough to call for every item. */
void progress_set(struct progress *progress, uint64_t done, uint64_t total);
void progress_end(struct progress *progress); /* erases the line on a terminal */

#endif
