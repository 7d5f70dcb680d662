/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unrecorded.h: writes the programs that were started in this session and are not recorded.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_UNRECORDED_H
#define SHINY_UNRECORDED_H

#include "../state/session.h"

struct start;

/* Reads and removes a link of the session directory in which a program says why it is not recorded
 * (wire.h). */
void unrecorded_take(struct people *people, struct output *output, int directory, const char *name);

/* Finds out, while the program runs, why it has no ring. */
void unrecorded_look(struct session *session, const struct start *start);

/* Writes a program that was not recorded, when it or the session has ended. `parent`: id of the
 * process that started it, 0 unknown. */
void unrecorded_put(struct output *output, const struct start *start, uint32_t parent);

/* Returns the first such link of a directory without rings, as "PROGRAM: why", which the caller
 * frees; NULL: there is none. */
char *unrecorded_first(const char *directory);

#endif
