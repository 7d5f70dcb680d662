/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_ask.h: how `shinyctl snapshot` asks the sidecar of a session for a heap snapshot.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * Who asks puts a file SNAPSHOT_ASK_PREFIX N into the session directory, N its own pid, which holds
 * a process id in decimal, or 0 for all recorded processes. The sidecar removes it, and answers
 * with a file SNAPSHOT_SAID_PREFIX N, which who asked removes. Both are made under another name and
 * renamed. The answer has a line a process, of fields between tabs: its pid, and "1", the
 * snapshot's id, its blocks, their bytes, its edges, its roots, copied and unread bytes, how long
 * the process stood still and how long the whole took, both in ns; or "0" and why there is none.
 */
#ifndef SHINY_SNAPSHOT_ASK_H
#define SHINY_SNAPSHOT_ASK_H

#define SNAPSHOT_ASK_PREFIX  "snapshot-ask."
#define SNAPSHOT_SAID_PREFIX "snapshot-said."

#endif
