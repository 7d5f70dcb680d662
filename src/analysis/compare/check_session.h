/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_session.h: the measures that have one value for the whole session: mismatched frees,
 * growing call sites, lost events, processes, duration.
 *
 * Runs: CLI. Signals: no. Allocates: what the analyses need; a name a part. Threads: one a store.
 */
#ifndef SHINY_CHECK_SESSION_H
#define SHINY_CHECK_SESSION_H

#include "breakdown.h"
#include "check_result.h"

/* One of the compared sessions. */
struct check_side {
	struct store *store;
	const struct filter *filter;
	const struct breakdown *breakdown;
	const struct check_options *options;
};

/* Finds a measure's value. `parts`: gets a part for each row that counts; NULL: none wanted. */
SHINY_MUST_CHECK struct shiny_err *check_session_value(const struct check_side *side,
						       enum check_measure measure, double *value,
						       struct check_result *parts);

#endif
