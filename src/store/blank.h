/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blank.h: the initial file of every session: its tables and views, their documentation and the
 * boring functions, without rows of a recording.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: in blank_open(). Threads: any.
 *
 * It is created when shinyctl is built (blank_make.c), and copied: running schema.sql in each
 * session took 33 of the 66 million instructions of `shinyctl collect` of `bench_alloc 10`, and 100
 * of its writes. A reader compares a session's schema with it.
 */
#ifndef SHINY_STORE_BLANK_H
#define SHINY_STORE_BLANK_H

#include <sqlite3.h>

#include "../base/err.h"

/* Writes it to `fd`, a new file. The first page is written last: until then the file has no header,
 * and no reader takes it for a session. */
SHINY_MUST_CHECK struct shiny_err *blank_write(const char *path, int fd);

/* Opens it in memory, for reading only. The caller closes `*db`, also after an error. Returns
 * SQLite's code. */
int blank_open(sqlite3 **db);

#endif
