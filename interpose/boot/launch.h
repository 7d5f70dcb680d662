/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h: starts a sidecar for the session directory when none serves it, and has an executable
 * of a new build probed.
 *
 * Runs: inside, in boot only. Signals: the target sees none of it: no SIGCHLD, nothing for its
 * wait(). Allocates: nothing. Threads: one.
 */
#ifndef SI_LAUNCH_H
#define SI_LAUNCH_H

#include "../core/base.h"

enum si_service {
	SI_SERVED,    /* a sidecar is there, or being started, and drains our ring */
	SI_FINISHING, /* a sidecar is there, but takes no more rings: another one follows it later
	               * (sidecar.c) */
	SI_UNSERVED,
};

/* Tells by the directory's lock whether a sidecar serves it. */
enum si_service si_service(const char *directory);

/*
 * Starts a sidecar unless the directory is served already; `environment` is passed on without
 * LD_PRELOAD. SI_UNSERVED: there is none, `notes` says why, and recording into the ring continues.
 */
enum si_service si_launch(const char *directory, char *const *environment, struct si_text *notes);

/*
 * Has shinyctl prepare this executable before it runs (src/ctl/run/prepare.h), and waits for that.
 * False: it was not prepared, `notes` says why.
 */
bool si_prepare(const char *directory, const char *executable, char *const *environment,
		struct si_text *notes);

#endif
