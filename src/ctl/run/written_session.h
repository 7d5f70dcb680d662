/* SPDX-License-Identifier: Apache-2.0 */
/*
 * written_session.h: finds the session file that is being written for a session directory.
 *
 * Runs: CLI. Signals: no. Allocates: little. Threads: one.
 */
#ifndef SHINY_WRITTEN_SESSION_H
#define SHINY_WRITTEN_SESSION_H

#include "sessions.h"

/*
 * Finds the session. `which`: a session directory, a process's id, or a session file; NULL: the
 * only directory that is being recorded. `file`: the session. `directory`: "" if a file was named.
 */
SHINY_MUST_CHECK struct shiny_err *written_session_named(const char *which, const char *verb,
							 char file[SESSIONS_PATH],
							 char directory[SESSIONS_PATH]);

#endif
