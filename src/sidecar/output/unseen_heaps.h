/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen_heaps.h: finds allocators whose blocks are not in the session, and executables whose
 * garbage-collected heap is not, because they had not been probed before they started.
 *
 * Runs: sidecar, at the end. Signals: no. Allocates: yes. Threads: one; those of the probe.
 *
 * `shinyctl run` probes the program that it starts. Programs that a script started, or that were
 * preloaded by hand, are probed here, so that the next recording has the heap; a note of the
 * session says that this one has not.
 */
#ifndef SHINY_UNSEEN_HEAPS_H
#define SHINY_UNSEEN_HEAPS_H

#include "../state/output.h"
#include "../state/rings.h"

/* Counts them and writes a note for each; call before the session's counters are written. */
void unseen_heaps_find(const struct rings *rings, struct output *output);
/* Probes executables that were not; true: this recording lacks such a heap. */
bool unseen_heaps_probe(const struct rings *rings, struct output *output);

#endif
