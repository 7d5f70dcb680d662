/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h: the sidecar's loop: runs rounds until no further program can join the session.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * The pause between two rounds grows by 2 ms up to 20 ms. It is 2 ms if writers claimed more than
 * 1/16 of a ring since the last scan or a round applied more than 20,000 records, none from 3/16 or
 * 200,000 on, and 1 ms when a ring ends. Before the first ring it is 5 ms. The session is over when
 * all rings are, the launcher's pipe has hung up, and a last look at the directory finds nothing
 * new. Between exec and the new image's constructor a program holds no ring: a grace of one second
 * covers that, of 0.1 s with a launcher, and none if no process is left that was started with the
 * library preloaded and this session's directory. In a directory that the user has named, without a
 * launcher, the grace is always a second, as the next program may not have been started yet.
 */
#ifndef SHINY_LOOP_H
#define SHINY_LOOP_H

#include "directory.h"

struct session;

/* Runs until the session is over, fails, or is asked to end (stop.h). */
SHINY_MUST_CHECK struct shiny_err *loop_serve(struct session *session, struct directory *dir);

#endif
