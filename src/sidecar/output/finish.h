/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish.h: names and sums into the session file.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_FINISH_H
#define SHINY_FINISH_H

#include "../state/session.h"

/* Modules, frames, stacks, vtables and classes that came since the last time. */
void finish_write_new(struct session *session);
/* All that is known at the end only. */
void finish_session(struct session *session, struct sidecar_summary *out);

#endif
