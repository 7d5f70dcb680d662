/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_rows.h: what the library and the sidecar count, losses among it, in the session file.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: what the store does. Threads: one.
 *
 * With each commit, as a sidecar may be killed: then what was lost up to there is known from its
 * file only.
 */
#ifndef SHINY_COUNTER_ROWS_H
#define SHINY_COUNTER_ROWS_H

#include "../state/session.h"

/* Those that have changed since the last time. */
void counter_rows_write(struct session *session);
/* All, at the end; losses are added to out->lost. */
void counter_rows_finish(struct session *session, struct sidecar_summary *out);

#endif
