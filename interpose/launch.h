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

/* `environment` is the one that the sidecar gets, less LD_PRELOAD. Failures go to `notes`; recording goes on into the arena. */
void si_launch(const char *directory, char *const *environment, struct si_text *notes);

#endif
