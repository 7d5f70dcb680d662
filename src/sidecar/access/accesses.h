/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accesses.h: the sources of SHINY_ACCESS together: watched blocks (watches.h) and touched pages
 * (page_uses.h).
 *
 * Runs: sidecar. Signals: no. Allocates: see those. Threads: the loop's.
 *
 * Each source is on from the start where the session's options ask for it, and can be switched at
 * any time (access_ask.h). Off means that nothing is left of it: no thread, no breakpoint, no mark.
 * The session says from when to when each was on: "access_watch_on" and "access_pages_on", ns,
 * FROM-UNTIL between spaces. Of what happens outside nothing is known.
 */
#ifndef SHINY_ACCESSES_H
#define SHINY_ACCESSES_H

#include "../state/session.h"

void accesses_begin(struct session *session);
/* A file of the session directory that switches sources: takes and removes it. */
void accesses_switch(struct session *session, int directory, const char *file);
void accesses_serve(struct session *session); /* once a round */
/* Everything is applied: ends what is under way, and says what was asked for. */
void accesses_end(struct session *session);
void accesses_destroy(struct session *session);

#endif
