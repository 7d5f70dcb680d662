/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_requests.h: heap snapshots that were asked for, or are due by SHINY_SNAPSHOT, from the
 * question to the session file.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: the loop's; the edges are found in another.
 *
 * While the process stands still, its rings are drained, so that the registry is that of the
 * moment, and its memory is copied. It runs on before its words are looked through: for that a
 * thread has copies of all that it needs, while the loop makes its rounds. One process at a time.
 *
 * At its exit or a mark a process asks in its slot and waits (wire.h, snapshots_wanted). "peak" is
 * looked for in each round: a peak that is over when its records are read has no snapshot.
 */
#ifndef SHINY_SNAPSHOT_REQUESTS_H
#define SHINY_SNAPSHOT_REQUESTS_H

#include "directory.h"

/* Begins what has been asked for; puts into the session what is done. A round has been made. */
void snapshots_serve(struct session *session, struct directory *dir);
/* At the end: waits for the one under way. */
void snapshots_end(struct session *session, struct directory *dir);

#endif
