/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_file.h: the session file: its name, and its beginning.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * An existing file is never overwritten without `force`: a fixed name is refused before anything is
 * read; a pattern's (%p, %t) comes from the program, when it may be too late to ask, so the next
 * free name.2, name.3, … is taken.
 */
#ifndef SHINY_SESSION_FILE_H
#define SHINY_SESSION_FILE_H

#include "../base/err.h"
#include "state/session.h"

/* An error where the options' name is fixed and taken. */
SHINY_MUST_CHECK struct shiny_err *session_file_check(const struct sidecar_options *options);
/* Names the file after the process `pid` of the ring, and makes session->store of it. */
SHINY_MUST_CHECK struct shiny_err *session_file_create(struct session *session,
						       const struct ring_file *ring, uint32_t pid);

#endif
