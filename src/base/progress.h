/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h: one line on standard error during long work: nothing in its first second, then
 * a line that renews itself on a terminal, or one plain line where standard error is a file or a
 * pipe.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: one a progress.
 */
#ifndef SHINY_PROGRESS_H
#define SHINY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what; /* "resolving call sites" */
	uint64_t started, shown; /* ns, monotonic; shown 0: nothing yet */
	bool terminal, off;
};

void progress_begin(struct progress *progress, const char *what, bool enabled);
/* total 0: unknown; cheap enough for every item */
void progress_set(struct progress *progress, uint64_t done, uint64_t total);
void progress_end(struct progress *progress); /* takes the line away again */

#endif
