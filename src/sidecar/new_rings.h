/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_rings.h: takes new files of the session directory: rings, marks, requests, and messages of
 * programs that are not recorded.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_NEW_RINGS_H
#define SHINY_NEW_RINGS_H

#include "directory.h"

struct output;
struct session;

/*
 * Takes new files: all, unless there are so many that are no rings that the programs would wait.
 * Then it does a part of the look, dir->look says so, and the next call goes on; rings that are
 * found in a later part may have records that are older than what is applied by then. A refused
 * ring becomes a note of the session, or the error, if there is no session file after a whole look.
 */
SHINY_MUST_CHECK struct shiny_err *new_rings_take(struct session *session, struct directory *dir);
/* Call at the end: notes how many more files were refused than have notes. */
void new_rings_note_rest(struct output *output, const struct directory *dir);

#endif
