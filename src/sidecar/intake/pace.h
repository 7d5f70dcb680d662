/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h: sets the sidecar's priority by the time left until a ring is full.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_PACE_H
#define SHINY_PACE_H

#include "../state/rings.h"

/* Call after a look at all chunks: sets a low priority while no ring will be full soon, else the
 * ordinary one (priority.h). */
void pace_follow(struct rings *rings);
/* Sets the ordinary priority: no program maps a ring any more, and users wait for the file. */
void pace_end(struct rings *rings);

#endif
