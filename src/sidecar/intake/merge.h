/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.h: applies the records of all streams in one order, one by one.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_MERGE_H
#define SHINY_MERGE_H

#include "../state/session.h"

/*
 * Applies the published records up to `until` (ticks; order.h proves that this is enough). If that
 * takes long, it stops earlier, so that the loop can commit: rings.behind is then true, and
 * output.applied_until has the time reached.
 */
void merge_until(struct session *session, uint64_t until);

#endif
