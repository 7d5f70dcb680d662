/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h: the session's file before SQLite opens it: its name, and the flock that marks it as being
 * written. Not for other rooms.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names and errors. Threads: any.
 */
#ifndef SHINY_STORE_FILE_H
#define SHINY_STORE_FILE_H

#include <stdbool.h>

#include "../base/err.h"

/* Takes the writer's lock; waits up to a second, as readers that test it hold it for a moment.
 * False: errno says why. */
bool file_lock(int fd);

/*
 * Creates the empty, locked file; the caller owns its descriptor. Replaces no existing file without
 * `force`, and only regular files and links with it.
 */
SHINY_MUST_CHECK struct shiny_err *file_make(const char *path, bool force, int *out);

/*
 * Call after reading a file that was being written: removes its log and the log's index, if the log
 * is empty and the file is not written any more. SQLite leaves that to the last connection that may
 * write; a reader that outlives the writer, or opens the file just as it ends, may not.
 */
void file_tidy(const char *path);
bool file_has_log(const char *path); /* true if it has a log that is not empty */

#endif
