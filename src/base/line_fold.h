/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_fold.h: a stream that breaks lines at spaces, so that a terminal need not break words and
 * numbers.
 *
 * Runs: CLI. Signals: no. Allocates: a line. Threads: one.
 *
 * A line goes on below itself, two columns further right than it began. A command of ours is never
 * broken, as it is there to be copied.
 */
#ifndef SHINY_LINE_FOLD_H
#define SHINY_LINE_FOLD_H

#include <stddef.h>
#include <stdio.h>

/* Returns the stream, which flushes whole lines into `out`; `out` if there is no memory. */
FILE *line_fold_open(FILE *out, size_t columns);

#endif
