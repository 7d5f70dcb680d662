/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h: the sidecar's loop: rounds, as long as somebody may still come to the session.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * The pause between two rounds grows by 2 ms up to 20 ms; it is 2 ms while rings fill up, 1 ms
 * when one ends, and none while they are nearly full. Before the first ring it is 5 ms. The
 * session is over when all rings are, the launcher's pipe has hung up, and a last look at the
 * directory finds nothing new. Between exec and the new image's constructor a program holds no
 * ring: without a launcher a second of grace covers that, with one a tenth, and none when no
 * process is left that was started with the library preloaded and this session's directory. In a
 * directory that a person has named, the next program may be one that nobody has started yet:
 * there it is a second always.
 */
#ifndef SHINY_LOOP_H
#define SHINY_LOOP_H

#include "directory.h"

/* Until the session is over, or was asked to end (stop.h). */
SHINY_MUST_CHECK struct shiny_err *loop_serve(struct session *session, struct directory *dir);

#endif
