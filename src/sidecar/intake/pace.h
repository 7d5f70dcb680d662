/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h: how much time the sidecar has before a ring is full, and what follows for its priority.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_PACE_H
#define SHINY_PACE_H

#include "../state/session.h"

/* After a look at all chunks: low while no ring will be full soon, else ordinary (priority.h). */
void pace_follow(struct session *session);
/* No program maps a ring any more, and somebody waits for the file: ordinary. */
void pace_end(struct session *session);

#endif
