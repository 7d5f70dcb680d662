/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blank.h: the file that every session begins as: its tables and views, their documentation and
 * the boring functions, and no row of a recording.
 *
 * Runs: sidecar. Signals: no. Allocates: no. Threads: any.
 *
 * It is made when shinyctl is built (blank_make.c), and written as it is: to run schema.sql in each
 * session took 33 of the 66 million instructions of `shinyctl collect` of `bench_alloc 10`, and 100
 * of its writes.
 */
#ifndef SHINY_STORE_BLANK_H
#define SHINY_STORE_BLANK_H

#include "../base/err.h"

/* Writes it to `fd`, which is new. Its first page comes last: until then the file has no header,
 * and nobody takes it for a session whose tables are made. */
SHINY_MUST_CHECK struct shiny_err *blank_write(const char *path, int fd);

#endif
