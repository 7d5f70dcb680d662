/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish.h: writes names and sums to the session file.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_FINISH_H
#define SHINY_FINISH_H

#include "../state/session.h"

/* Writes the modules, frames, stacks, vtables, tags and classes that are new since the last
 * call. */
void finish_write_new(struct output *output);
/* Writes everything that is known only at the end. */
void finish_session(struct session *session, struct sidecar_summary *out);

#endif
