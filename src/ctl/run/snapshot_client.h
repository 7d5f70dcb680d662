/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_client.h: requests heap snapshots from the sidecar of a session directory.
 *
 * Runs: CLI. Signals: no. Allocates: the answer. Threads: one.
 */
#ifndef SHINY_SNAPSHOT_CLIENT_H
#define SHINY_SNAPSHOT_CLIENT_H

#include <sys/types.h>

#include "../../base/err.h"

/* Requests a snapshot, and waits for the answer (snapshot_ask.h) as long as a sidecar serves the
 * directory. `pid` 0: all processes. The caller frees `answer`. */
SHINY_MUST_CHECK struct shiny_err *snapshot_ask(const char *directory, pid_t pid, char **answer);

#endif
