/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit.h: what was applied so far becomes safe: in the session file, as one transaction.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_COMMIT_H
#define SHINY_COMMIT_H

#include "state/session.h"

void commit_session(struct session *session);

/* Rings that are over, and go once they are safe in the session file. */
unsigned commit_rings_waiting(const struct session *session);
/* After a commit: a build of a thousand processes would fill the tmpfs with rings that are over. */
void commit_release_rings(struct session *session);

#endif
