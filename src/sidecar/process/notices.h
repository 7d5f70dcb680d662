/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notices.h: reads the notices of the session's processes about other programs: which they start,
 * and how their children end (wire.h).
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_NOTICES_H
#define SHINY_NOTICES_H

#include "../state/session.h"

/* Reads a ring's new notices. */
void notices_read(struct session *session, struct ring_file *ring);

/*
 * Drops the starts that a ring has answered; turns starts whose program has ended without a ring
 * into rows of unrecorded programs. `scanned`: wall ns of the last reading of the session's
 * directory. `last`: decides all of them, as the session ends.
 */
void notices_settle(struct session *session, uint64_t scanned, bool last);

#endif
