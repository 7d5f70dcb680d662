/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_end.h: rings that nobody maps any more.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * A ring ends when an exclusive lock on it succeeds (wire.h): then nobody maps it, and what is
 * drained after that is all there will ever be. That takes a few rounds, which all rings have in
 * common: a thousand short processes must not mean a thousand times as many rounds over those that
 * live.
 */
#ifndef SHINY_RING_END_H
#define SHINY_RING_END_H

#include "directory.h"

/* After a round. True: some rings end, and another round shall come soon. */
bool ring_end_check(struct session *session, struct directory *dir);

#endif
