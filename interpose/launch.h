/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h: starts a sidecar for the session directory when none serves it.
 *
 * Runs:      inside, in boot only.
 * Signals:   the target sees none of it: no SIGCHLD, nothing for its wait().
 * Allocates: nothing.    Threads: one.
 */
#ifndef SI_LAUNCH_H
#define SI_LAUNCH_H

#include "base.h"

/* Does a sidecar hold the directory's lock? */
bool si_served(const char *directory);

/*
 * Starts one unless the directory is served already; `environment` is the one that it gets, less LD_PRELOAD. False: there is none,
 * `notes` says why, and recording goes on into the arena.
 */
bool si_launch(const char *directory, char *const *environment, struct si_text *notes);

#endif
