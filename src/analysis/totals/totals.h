/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.h: a session in one struct: what ran, for how long, how much.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_TOTALS_H
#define SHINY_TOTALS_H

#include "../query/filter.h"

enum { SUMMARY_TIMES = 40 };

struct summary {
	char *program, *command;      /* of the first process; "" unknown */
	uint64_t started;             /* ns since 1970, 0 unknown */
	uint64_t duration;            /* ns */
	uint64_t schema_version;
	uint64_t processes, threads, events;
	uint64_t types, vtables, sites, stacks; /* types: distinct names; vtables: distinct
	                                         * addresses */
	uint64_t labels;              /* distinct words for blocks without a type, not in `types` */
	uint64_t typed_allocs;        /* allocations whose type is known; a label is none */
	uint64_t peak_bytes, peak_at; /* most live bytes at once, and when; of some processes
	                               * without events as well as buckets tell */
	uint64_t times[SUMMARY_TIMES]; /* most live bytes in each fortieth of the session, by the
	                                * timeline's buckets; over the scope, as the peak */
	struct sums sums;             /* over the scope; everything else is over the session */
};

SHINY_MUST_CHECK struct shiny_err *summary_load(struct store *store, const struct scope *scope,
						struct summary *out);
void summary_deinit(struct summary *summary);

#endif
