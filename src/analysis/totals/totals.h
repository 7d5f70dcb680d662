/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.h: the totals of a session: program, duration, sums, peak.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_TOTALS_H
#define SHINY_TOTALS_H

#include "../query/filter.h"

enum { TOTALS_TIMES = 40 };

struct totals {
	char *program, *command;      /* of the first process; "": unknown */
	uint64_t started;             /* ns since 1970; 0: unknown */
	uint64_t duration;            /* ns */
	uint64_t schema_version;
	uint64_t processes, threads, events;
	uint64_t types, vtables, sites, stacks; /* types: distinct names; vtables: distinct
	                                         * addresses */
	uint64_t labels;              /* distinct labels of blocks without a type, not in `types` */
	uint64_t typed_allocs;        /* allocations with a known type; a label is none */
	uint64_t peak_bytes, peak_at; /* most live bytes at once, and the time; for some processes
				       * without events an estimate from buckets */
	uint64_t at_peak_ns;          /* the moment of the sums at_peak: when running processes
				       * held most */
	uint64_t times[TOTALS_TIMES]; /* most live bytes in each fortieth of the session, by
				       * buckets; of the filter, as the peak */
	struct sums sums;	      /* of the filter; all else is of the session */
};

SHINY_MUST_CHECK struct shiny_err *totals_load(struct store *store, const struct filter *filter,
					       struct totals *out);
void totals_deinit(struct totals *totals);

#endif
