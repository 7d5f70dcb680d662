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

#include "../state/output.h"
#include "../state/people.h"

struct accesses;

/* NULL: none can be recorded. The other functions accept that. */
struct accesses *accesses_begin(const struct sidecar_options *options, struct output *output);
/* Takes and removes a file of the session directory that switches sources (access_ask.h). */
void accesses_switch(struct accesses *accesses, struct output *output, int directory,
		     const char *file);
/* Call once a round. */
void accesses_serve(struct accesses *accesses, struct output *output, const struct people *people);
/* Call when all records are applied: switches the sources off, and writes which were on. */
void accesses_end(struct accesses *accesses, struct output *output);
/* Call when the rows of types are written: adds the type of each watched block. */
void accesses_put_types(struct accesses *accesses, struct output *output);
void accesses_destroy(struct accesses *accesses);

#endif
