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
 * The number of records applied: of those that lie before the last look around. A ring that
 * appeared behind it would otherwise be told behind records that come after its own; what is live
 * over all processes is known for each moment only in the order of time.
 */
uint64_t round_run(struct session *session);

#endif
