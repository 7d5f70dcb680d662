/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_ask.h: how `shinyctl tell` asks the sidecar of a session for a heap snapshot.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * The asking process puts a file SNAPSHOT_ASK_PREFIX N into the session directory, where N is its
 * pid; it holds a pid in decimal, or 0 for all recorded processes. The sidecar removes it, and
 * answers with a file SNAPSHOT_SAID_PREFIX N, which the asking process removes. Both are created
 * under another name and renamed. The answer has a line per process, of fields between tabs: its
 * pid, and "1", the snapshot's id, its blocks, their bytes, its edges, its roots, copied and unread
 * bytes, the ns that the process was stopped and the ns of the whole; or "0" and the reason why
 * there is none.
 */
#ifndef SHINY_SNAPSHOT_ASK_H
#define SHINY_SNAPSHOT_ASK_H

#define SNAPSHOT_ASK_PREFIX  "snapshot-ask."
#define SNAPSHOT_SAID_PREFIX "snapshot-said."

#endif
