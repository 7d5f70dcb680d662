/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sidecar.h: drains the rings of a session directory into one session file.
 *
 * Runs: sidecar (a separate process, forked by `shinyctl run`, or exec'd as `shinyctl collect`).
 * Allocates: yes. Threads: one.
 */
#ifndef SHINY_SIDECAR_H
#define SHINY_SIDECAR_H

#include "../base/err.h"
#include "state/sidecar_options.h"

/*
 * Takes the directory's SHINY_SIDECAR_LOCK, for a launcher that wants it held before the program
 * starts. The descriptor belongs to the caller; a forked sidecar's copy holds the lock as well.
 */
SHINY_MUST_CHECK struct shiny_err *sidecar_lock(const char *directory, int *out);

/* Runs until no process maps a ring of the directory any more (wire.h) and the launcher has
 * ended. */
SHINY_MUST_CHECK struct shiny_err *sidecar_run(const struct sidecar_options *options,
					       struct sidecar_summary *out);

/*
 * Call while summary->late: runs another session, for late programs; its file has the options' name
 * with a number. If another sidecar serves them by now, does nothing and returns an empty summary.
 */
SHINY_MUST_CHECK struct shiny_err *sidecar_run_late(const struct sidecar_options *options,
						    struct sidecar_summary *summary);

#endif
