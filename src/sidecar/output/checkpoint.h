/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h: keeps a session's file flat: its last events, and the sums and live blocks of
 * before (SHINY_KEEP).
 *
 * Runs: sidecar. Signals: no. Allocates: 48 bytes a live block, for a moment. Threads: one.
 *
 * Four times in the time that is kept, with a commit, the sidecar writes a checkpoint: the sums so
 * far (carried_sums.h), and the live blocks as events, born when they were (EVENT_CARRIED). Once
 * the last event is that time behind a checkpoint, readers begin with it, and what only events
 * before it needed is deleted: SQLite writes later rows where these were. So the file holds events
 * of one to one and a quarter of that time, and at most five times the live blocks; a program that
 * stands still, or has ended, keeps its last ones. Readers replay as always: nothing but the first
 * blocks' marks is new to them. A sidecar that is killed leaves a file with a checkpoint in it, as
 * it leaves any (recover.h).
 *
 * Rejected: moving the beginning on by one block of events at a time. That needs a second registry
 * of the live blocks then, and each event once more.
 *
 * Not flat: rows of processes, threads, modules, stacks, marks and address ranges that have ended,
 * and the sidecar's memory of them.
 */
#ifndef SHINY_CHECKPOINT_H
#define SHINY_CHECKPOINT_H

#include "../state/session.h"

/* Call before a commit, when all events so far are put: takes a checkpoint, if one is due. */
void checkpoint_take(struct session *session);

#endif
