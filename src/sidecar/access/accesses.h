/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accesses.h: the sources of SHINY_ACCESS together: watched blocks (watches.h) and touched pages
 * (page_uses.h).
 *
 * Runs: sidecar. Signals: no. Allocates: see those. Threads: the loop's.
 *
 * Each source is on from the start where the session's options ask for it, and can be switched at
 * any time (access_ask.h). A source that is off has no thread, no breakpoint, no mark. The session
 * says when each was on: "access_watch_on" and "access_pages_on", in ns, FROM-UNTIL between spaces.
 * Accesses outside of these times are unknown.
 */
#ifndef SHINY_ACCESSES_H
#define SHINY_ACCESSES_H

#include "../state/session.h"

void accesses_begin(struct session *session);
/* Takes and removes a file of the session directory that switches sources (access_ask.h). */
void accesses_switch(struct session *session, int directory, const char *file);
void accesses_serve(struct session *session); /* once a round */
/* Call when all records are applied: switches the sources off, and writes which were on. */
void accesses_end(struct session *session);
void accesses_destroy(struct session *session);

#endif
