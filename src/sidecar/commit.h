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

/* A store_patience_fn of a session: while its rings have room, what the disk refuses is tried again
 * ten times a second, so that who frees some space loses nothing. */
bool commit_try_again(void *session, int error);
/* Nothing of it is left in rings: after an error, they are of no use. */
bool commit_holds_all(const struct session *session);
/*
 * The session file cannot be written, for `err`: its last commit stands. All that was read since
 * goes back to where it came from; the store is gone. The error with the commands that bring it
 * back: what is in the file is made whole by the second.
 */
SHINY_MUST_CHECK struct shiny_err *commit_failed(struct session *session, const char *directory,
						 struct shiny_err *err);

/* Before its second is over: what waits for a commit is much. */
bool commit_is_due(const struct session *session);
/* After a commit: a build of a thousand processes would fill the tmpfs with rings that are over. */
void commit_release_rings(struct session *session);

#endif
