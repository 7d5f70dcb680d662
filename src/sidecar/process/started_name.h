/* SPDX-License-Identifier: Apache-2.0 */
/*
 * started_name.h: the name that a program was started under.
 *
 * Runs: sidecar. Signals: no. Allocates: the answer (mem.h). Threads: any.
 *
 * Debian's redis-server is a link to redis-check-rdb, and dot to libgvc6-config-update: the file's
 * own name is one that its user never wrote.
 */
#ifndef SHINY_STARTED_NAME_H
#define SHINY_STARTED_NAME_H

/* Returns the name of a link to `executable` that the command line begins with; else the file's
 * own. The caller frees it. */
char *started_name(const char *executable, const char *command);

#endif
