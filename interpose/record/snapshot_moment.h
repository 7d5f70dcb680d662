/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_moment.h: moments at which the program waits for a heap snapshot (SHINY_SNAPSHOT): its
 * exit, and marks.
 *
 * Runs:      inside.
 * Signals:   as wait.h.
 * Allocates: nothing.
 * Threads:   any.
 *
 * The thread asks in the process's slot and waits as for a chunk, so that what the snapshot shows
 * is the moment, and not a later one. Without a sidecar that makes progress, or with
 * SHINY_ON_FULL=drop, it does not wait, and the snapshot comes as soon as the sidecar sees the
 * question, or not at all.
 */
#ifndef SI_SNAPSHOT_MOMENT_H
#define SI_SNAPSHOT_MOMENT_H

#include "../core/base.h"

/* In boot: SHINY_SNAPSHOT's value. */
void si_snapshot_moments(const char *value);

void si_snapshot_at_exit(void);
void si_snapshot_at_mark(const char *name);

#endif
