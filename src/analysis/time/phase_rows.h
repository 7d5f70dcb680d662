/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_rows.h: the second half of activity.h: whose the blocks of each phase are, once phases are
 * known.
 *
 * Runs: CLI. Signals: no. Allocates: 48 bytes a phase and type or site. Threads: one a store.
 *
 * One pass over the events, in which each block is counted when it ends: for the phase that it was
 * born in, and the one that it died in.
 */
#ifndef SHINY_PHASE_ROWS_H
#define SHINY_PHASE_ROWS_H

#include "activity.h"
#include "../attribute/groups.h"

/* Fills in `types` and `sites` of each phase; `types` are groups of them. */
SHINY_MUST_CHECK struct shiny_err *phase_rows_load(struct store *store, const struct filter *filter,
						   const struct groups *types, bool progress,
						   struct activity *activity);

#endif
