/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stat_short.h: chooses one of the two tables of view stat for a row. In nine rows of ten most
 * columns are 0 or follow from the others, and a column costs a byte a row even if it is 0.
 *
 * Runs: sidecar. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_STORE_STAT_SHORT_H
#define SHINY_STORE_STAT_SHORT_H

#include <stdbool.h>

#include "store.h"

/* Converts a row to a row of table stat_short. False: it needs a column that stat_short lacks, and
 * belongs to stat_long. */
bool stat_short(const struct store_stat *row, struct store_stat_short *out);

#endif
