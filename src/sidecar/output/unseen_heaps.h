/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen_heaps.h: finds allocators whose blocks are not in the session.
 *
 * Runs: sidecar, at the end. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_UNSEEN_HEAPS_H
#define SHINY_UNSEEN_HEAPS_H

#include "../state/output.h"
#include "../state/rings.h"

/* Counts them and writes a note for each; call before the session's counters are written. */
void unseen_heaps_find(const struct rings *rings, struct output *output);

#endif
