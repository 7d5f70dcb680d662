/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unrecorded.h: programs that were started in this session and are not recorded.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_COLLECTOR_UNRECORDED_H
#define SHINY_COLLECTOR_UNRECORDED_H

#include "session.h"

/* A link of the session directory (wire.h) in which a program says so: it is read and removed. */
void unrecorded_take(struct session *session, int directory, const char *name);

/* The first such link of a directory in which there is no arena: "PROGRAM: why"; NULL: there is none. */
char *unrecorded_first(const char *directory);

#endif
