/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round.h: one round of the sidecar's loop: applies the records published before it, or the earlier
 * part of them (rings.behind).
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * A round sets T = now, looks for new processes and chunks, merges and applies everything up to T
 * (order.h), and releases chunks.
 */
#ifndef SHINY_ROUND_H
#define SHINY_ROUND_H

#include "state/session.h"

/*
 * Applies records that are older than the last search for rings, and returns their number. A ring
 * that appears after that search may hold older records than the pending ones; the live sum over
 * all processes is right at each moment only if records are applied in the order of time.
 */
uint64_t round_run(struct session *session);

/* True if chunks that cannot be read yet limited the last round. */
bool round_is_held_back(const struct rings *rings);

#endif
