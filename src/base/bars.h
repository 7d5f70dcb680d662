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

/* Returns a new text of at most `columns` characters; where there are more values, each character
 * shows the largest of several. A value of 0 is a blank. */
char *bars_text(const uint64_t *values, size_t count, size_t columns);

#endif
