/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bars.h: a series of numbers as one line of bars, each from nothing to the largest: ▁▂▅█.
 *
 * Runs: CLI. Signals: no. Allocates: the text (mem.h). Threads: any.
 */
#ifndef SHINY_BARS_H
#define SHINY_BARS_H

#include <stddef.h>
#include <stdint.h>

/* `columns` characters at most; where there are more values, each shows the largest of several. 0
 * is a blank. A new text. */
char *bars_text(const uint64_t *values, size_t count, size_t columns);

#endif
