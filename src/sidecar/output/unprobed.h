/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unprobed.h: finds executables whose garbage-collected heap was not recorded, because they had not
 * been probed before they started.
 *
 * Runs: sidecar, at the end. Signals: no. Allocates: yes. Threads: those of the probe.
 *
 * `shinyctl run` probes the program that it starts. Programs that a script started, or that were
 * preloaded by hand, are probed here, so that the next recording has the heap; a note of the
 * session says that this one has not.
 */
#ifndef SHINY_UNPROBED_H
#define SHINY_UNPROBED_H

#include "../state/output.h"
#include "../state/rings.h"

/* True: this recording lacks such a heap. */
bool unprobed_probe(const struct rings *rings, struct output *output);

#endif
