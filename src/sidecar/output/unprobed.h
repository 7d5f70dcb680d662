/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unprobed.h: executables with a garbage-collected heap that could not be seen, because nobody had
 * probed them before they started.
 *
 * Runs: sidecar, at the end. Signals: no. Allocates: yes. Threads: those of the probe.
 *
 * `shinyctl run` probes the program that it starts. What a script starts, or what was preloaded by
 * hand, is found here: it is probed now, so that the next recording has the heap, and the session
 * says that this one has not.
 */
#ifndef SHINY_UNPROBED_H
#define SHINY_UNPROBED_H

#include "../state/session.h"

/* True: something could not be seen, for this time. */
bool unprobed_probe(struct session *session);

#endif
