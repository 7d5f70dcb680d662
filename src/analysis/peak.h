/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peak.h: the moment at which most bytes were live, to the event: the timeline of a session knows it to its bucket (10 ms).
 *
 * Runs: CLI. Signals: no. Allocates: what lives.h does. Threads: one a store.
 *
 * Live bytes are those of the processes that run at that time, added up: what a process held goes when it ends. Costs a pass over all events.
 */
#ifndef SHINY_PEAK_H
#define SHINY_PEAK_H

#include "lives.h"

struct peak {
	uint64_t time, bytes; /* of the first such moment; 0, 0: nothing ever lived */
};

SHINY_MUST_CHECK struct shiny_err *peak_load(struct store *store, const struct scope *scope, bool progress, struct peak *out);

#endif
