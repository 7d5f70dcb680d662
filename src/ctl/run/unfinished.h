/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unfinished.h: lets a verb wait for a session that is still being written.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_UNFINISHED_H
#define SHINY_UNFINISHED_H

#include <stdbool.h>

#include "../../base/err.h"

/*
 * Runs before a verb reads the session `path`. While the sidecar writes the end of a session that
 * has no running program left, it waits, with a line on stderr, two minutes at most. While programs
 * run it does not wait: the verb's last line says that the file is still being written
 * (ctl_losses). `sums`: the verb reads only sums by process, type and call site, which the sidecar
 * writes at the end; an unfinished session is then an error, not a report of zeros.
 */
SHINY_MUST_CHECK struct shiny_err *unfinished_wait(const char *path, bool sums);

#endif
