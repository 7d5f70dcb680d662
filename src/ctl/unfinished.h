/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unfinished.h: a verb asks a session that is still being written.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_UNFINISHED_H
#define SHINY_UNFINISHED_H

#include <stdbool.h>

#include "../base/err.h"

/*
 * Before a verb reads the session `path`. Its programs have ended, and the sidecar is writing its
 * end: waits for that, with a line on stderr, two minutes at most. They run: what the verb says
 * ends with that the file is still being written (ctl_losses). `sums`: it reads sums by process,
 * type and call site alone, which only a whole session has; where it would answer 0, that is an
 * error.
 */
SHINY_MUST_CHECK struct shiny_err *unfinished_wait(const char *path, bool sums);

#endif
