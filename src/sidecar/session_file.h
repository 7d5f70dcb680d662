/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_file.h: names and creates the session file.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * An existing file is never overwritten without `force`: a fixed name that exists is refused before
 * anything is read; a pattern (%p, %t) is expanded only when the program is known, which is too
 * late to refuse, so the next free name.2, name.3, … is used.
 */
#ifndef SHINY_SESSION_FILE_H
#define SHINY_SESSION_FILE_H

#include "../base/err.h"
#include "state/session.h"

/* Returns an error if the options' name is fixed and exists. */
SHINY_MUST_CHECK struct shiny_err *session_file_check(const struct sidecar_options *options);
/* Creates the file, named after process `pid` of the ring, and sets output.store. */
SHINY_MUST_CHECK struct shiny_err *session_file_create(struct session *session,
						       const struct ring_file *ring, uint32_t pid);

#endif
