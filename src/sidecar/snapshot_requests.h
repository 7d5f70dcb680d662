/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_requests.h: takes heap snapshots that were requested, or are due by SHINY_SNAPSHOT, and
 * writes them.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: the loop's; another one finds the edges.
 *
 * While the process is stopped, its rings are drained, so that the registry is up to date, and its
 * memory is copied. Then the process continues, while a thread with copies of all that it needs
 * scans the words and the loop runs its rounds. One process at a time.
 *
 * At its exit or a mark a process asks in its slot and waits (wire.h, snapshots_wanted). Each round
 * looks for a "peak": one that is over when its records are read has no snapshot.
 */
#ifndef SHINY_SNAPSHOT_REQUESTS_H
#define SHINY_SNAPSHOT_REQUESTS_H

#include "directory.h"

struct session;

/* Call after a round: begins due snapshots and writes finished ones. */
void snapshots_serve(struct session *session, struct directory *dir);
/* Call at the end: waits for the snapshot under way, and refuses the others. */
void snapshots_end(struct session *session, struct directory *dir);

#endif
