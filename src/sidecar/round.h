/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round.h: one round of the sidecar's loop: what was published before it is applied, or the earlier
 * part of that (session->behind).
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * T = now; look for new processes and chunks; merge and apply everything up to T (order.h); give
 * chunks back.
 */
#ifndef SHINY_ROUND_H
#define SHINY_ROUND_H

#include "state/session.h"

/*
 * Applies records that are older than the last search for rings, and returns their number. A ring
 * that appears after that search may hold older records than those that wait; what is live over all
 * processes is known at each moment only if records are applied in the order of time.
 */
uint64_t round_run(struct session *session);

/* Whether the last round went no further than a chunk that has to wait for its turn. */
bool round_is_held_back(const struct session *session);

#endif
