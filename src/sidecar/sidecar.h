/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sidecar.h: drains the rings of a session directory into one session file.
 *
 * Runs: sidecar (a process of its own, forked by `shinyctl run`, or exec'd as `shinyctl collect`).
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

/* Runs until nobody maps a ring of the directory any more (see wire.h) and the launcher is gone. */
SHINY_MUST_CHECK struct shiny_err *sidecar_run(const struct sidecar_options *options,
					       struct sidecar_summary *out);

/*
 * While summary->late: another session, for programs that came late; its file's name is the
 * options' with a number. Where another sidecar serves them by now, there is nothing to do, and the
 * summary is empty.
 */
SHINY_MUST_CHECK struct shiny_err *sidecar_run_late(const struct sidecar_options *options,
						    struct sidecar_summary *summary);

#endif
