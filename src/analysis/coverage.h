/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coverage.h: lists what a session could record and could not, with advice.
 *
 * Runs: CLI. Signals: no. Allocates: yes, a row a finding. Threads: one a store.
 */
#ifndef SHINY_COVERAGE_H
#define SHINY_COVERAGE_H

#include "totals/processes.h"

enum finding_state { FINDING_OK, FINDING_WARN, FINDING_BAD, FINDING_STATES };
extern const char *const finding_state_names[FINDING_STATES]; /* "ok", "warn", "bad" */

struct finding {
	enum finding_state state;
	const char *name;   /* the subject: "process", "losses", "names", … */
	char *text, *advice; /* advice NULL: nothing to do */
};
struct coverage {
	struct finding *rows;
	size_t count, room;
};

/* Also adds OK rows: each process, and that nothing was lost. */
SHINY_MUST_CHECK struct shiny_err *coverage_load(struct store *store, struct coverage *out);
void coverage_deinit(struct coverage *coverage);

/* Adds a row; `name` must outlive it. */
void coverage_add(struct coverage *coverage, enum finding_state state, const char *name,
		  const char *advice, const char *format, ...) SHINY_PRINTF(5, 6);

#endif
