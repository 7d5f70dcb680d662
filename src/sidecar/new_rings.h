/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_rings.h: what has come to the session directory: rings, marks, and programs that say that
 * they are not recorded.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_NEW_RINGS_H
#define SHINY_NEW_RINGS_H

#include "directory.h"

/*
 * Takes in what is there. A ring that is refused becomes a note of the session, or the error, where
 * there is no other ring.
 */
SHINY_MUST_CHECK struct shiny_err *new_rings_take(struct session *session, struct directory *dir);
/* At the end: how many more were refused than notes were written. */
void new_rings_note_rest(struct session *session, const struct directory *dir);

#endif
