/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h: starts a sidecar for the session directory when none serves it; has an executable
 * probed that nobody has seen before.
 *
 * Runs:      inside, in boot only.
 * Signals:   the target sees none of it: no SIGCHLD, nothing for its wait().
 * Allocates: nothing.    Threads: one.
 */
#ifndef SI_LAUNCH_H
#define SI_LAUNCH_H

#include "../core/base.h"

enum si_service {
	SI_SERVED,    /* a sidecar is there, or on its way, and drains what we write */
	SI_FINISHING, /* there is one, but it takes no more: another comes after it, some time
	               * (sidecar.c) */
	SI_UNSERVED,
};

/* Finds the holder of the directory's lock. */
enum si_service si_service(const char *directory);

/*
 * Starts one unless the directory is served already; `environment` is the one that it gets, less
 * LD_PRELOAD. SI_UNSERVED: there is none, `notes` says why, and recording goes on into the ring.
 */
enum si_service si_launch(const char *directory, char *const *environment, struct si_text *notes);

/*
 * Has shinyctl work out what is to be known of this executable before it runs (src/ctl/prepare.h),
 * and waits for that. False: that is not done, `notes` says why.
 */
bool si_prepare(const char *directory, const char *executable, char *const *environment,
		struct si_text *notes);

#endif
