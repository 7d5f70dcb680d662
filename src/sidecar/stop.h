/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.h: signals ask the sidecar to end.
 *
 * Runs: sidecar. Signals: SIGTERM asks; SIGINT and SIGHUP are ignored: Ctrl-C is meant for the
 * program, whose end also ends the sidecar. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_STOP_H
#define SHINY_STOP_H

#include <signal.h>
#include <stdbool.h>

struct stop_actions {
	struct sigaction term, interrupt, hangup;
};

/* Installs the handlers; `was` stores the previous ones for stop_end. */
void stop_begin(struct stop_actions *was);
void stop_end(const struct stop_actions *was);
bool stop_asked(void);
/* True after a second request: the session then waits for no other process. */
bool stop_hurried(void);

#endif
