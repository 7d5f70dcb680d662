/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit.h: commits the applied records to the session file, as one transaction.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_COMMIT_H
#define SHINY_COMMIT_H

#include "state/session.h"

void commit_session(struct session *session);

/* A store_patience_fn whose context is a session: while its rings have room, a failed write is
 * repeated ten times a second, so that a user who frees some space loses nothing. */
bool commit_try_again(void *session, int error);
/* True if all data is committed: after an error the rings are of no use. */
bool commit_holds_all(const struct session *session);
/*
 * Call when the session file cannot be written, for `err`: its last commit stays valid. Puts the
 * records read since back into the rings and frees the store. Returns `err` with the commands that
 * recover the data: one for the rings and one that completes the file.
 */
SHINY_MUST_CHECK struct shiny_err *commit_failed(struct session *session, const char *directory,
						 struct shiny_err *err);

/* True if so much waits for a commit that it should not wait for the end of its second. */
bool commit_is_due(const struct session *session);
/* Call after a commit: removes ended rings. A build of a thousand processes would fill the tmpfs
 * with them. */
void commit_release_rings(struct session *session);

#endif
