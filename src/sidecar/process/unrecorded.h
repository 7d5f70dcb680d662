/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unrecorded.h: programs that were started in this session and are not recorded.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_UNRECORDED_H
#define SHINY_UNRECORDED_H

#include "../state/session.h"

struct start;

/* A link of the session directory (wire.h) in which a program says so: it is read and removed. */
void unrecorded_take(struct session *session, int directory, const char *name);

/* What can be seen of it while it runs: why it has no ring. */
void unrecorded_look(struct session *session, const struct start *start);

/* It has ended, or the session has, and it was not recorded. `parent`: process that started it, 0
 * unknown. */
void unrecorded_put(struct session *session, const struct start *start, uint32_t parent);

/* The first such link of a directory in which there is no ring: "PROGRAM: why"; NULL: there is
 * none. */
char *unrecorded_first(const char *directory);

#endif
