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

/* The program with this pid has said itself why it is not recorded: its start is answered. */
void notices_answered(struct session *session, uint32_t pid);

void notices_forget(struct session *session); /* all */

/* Of a process that nobody recorded: the recorded one that started it, or its ancestor; 0 not
 * known. `time` in ticks. */
uint32_t notices_parent(struct session *session, uint32_t pid, uint64_t time);

#endif
