/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h: the session's file before SQLite has it: its name, and the flock by which others know
 * that somebody writes it. Not for other rooms.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names and errors. Threads: any.
 */
#ifndef SHINY_STORE_FILE_H
#define SHINY_STORE_FILE_H

#include <stdbool.h>

#include "../base/err.h"

/* The writer's lock; waits up to a second, as a reader that asks whether the file is written holds
 * it for a moment. False: errno says why. */
bool file_lock(int fd);

/*
 * The new, empty, locked file, whose descriptor is the caller's; or why not. Nothing that exists is
 * touched without `force`, and only regular files with it.
 */
SHINY_MUST_CHECK struct shiny_err *file_make(const char *path, bool force, int *out);

/*
 * After a reader of a file that was being written: removes its log and the log's index, if the log
 * is empty and nobody writes any more. SQLite leaves that to the last connection that may write; a
 * reader that outlives the writer, or opens the file just as it ends, has no such right.
 */
void file_tidy(const char *path);
bool file_has_log(const char *path); /* and something is in it */

#endif
