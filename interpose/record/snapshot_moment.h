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
 * The thread requests the snapshot in the process's slot and waits as for a chunk, so that the
 * snapshot shows this moment, and not a later one. Without a sidecar that makes progress, or with
 * SHINY_ON_FULL=drop, it does not wait, and the snapshot is taken as soon as the sidecar sees the
 * request, or not at all.
 */
#ifndef SI_SNAPSHOT_MOMENT_H
#define SI_SNAPSHOT_MOMENT_H

#include "../core/base.h"

/* Parses SHINY_SNAPSHOT's value. Called in boot. */
void si_snapshot_moments(const char *value);

void si_snapshot_at_exit(void);
void si_snapshot_at_mark(const char *name);

#endif
