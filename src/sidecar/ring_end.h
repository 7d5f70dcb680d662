/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_end.h: ends rings that no process maps any more.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * A ring ends when an exclusive lock on it succeeds (wire.h): then no process maps it, and no more
 * records are written. Draining it takes a few rounds, which all rings share: a thousand short
 * processes must not cause a thousand times as many rounds over the live ones.
 */
#ifndef SHINY_RING_END_H
#define SHINY_RING_END_H

#include "directory.h"

struct session;

/* Call after a round. True: some rings are ending, and another round should follow soon. */
bool ring_end_check(struct session *session, struct directory *dir);

#endif
