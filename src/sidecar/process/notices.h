/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notices.h: what the processes of the session say of other programs: which they start, and how
 * their children end (wire.h).
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_NOTICES_H
#define SHINY_NOTICES_H

#include "../state/session.h"

/* Notices of a ring since the last time. */
void notices_read(struct session *session, struct ring_file *ring);

/*
 * Starts that a ring has answered are forgotten, starts whose program has ended without one become
 * programs that are not recorded. `scanned`: when the session's directory was last read, wall ns.
 * `last`: nothing more will come; all are decided.
 */
void notices_settle(struct session *session, uint64_t scanned, bool last);

#endif
