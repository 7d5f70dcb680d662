/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stat_short.h: the rows of view stat go into one of two tables. Of nine rows in ten most columns
 * are 0 or follow from the others, and a column costs a byte a row even where it is 0.
 *
 * Runs: sidecar. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_STORE_STAT_SHORT_H
#define SHINY_STORE_STAT_SHORT_H

#include <stdbool.h>

#include "store.h"

/* False: the row has something that table stat_short has no column for: it belongs to
 * stat_long. */
bool stat_short(const struct store_stat *row, struct store_stat_short *out);

#endif
