/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.h: the records of all streams in one order, applied one by one.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_MERGE_H
#define SHINY_MERGE_H

#include "../state/session.h"

/*
 * Applies what is published, up to `until` (ticks; order.h says why that is enough). Where that
 * takes long, only the earlier part: the loop has other duties, and commits what was applied.
 * session->behind says that it was cut, session->applied_until how far it got.
 */
void merge_until(struct session *session, uint64_t until);

#endif
