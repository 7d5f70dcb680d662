/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_log.h: keeps ended blocks by the intervals of their birth and end until the phases are
 * known, so that phases need no pass over the events of their own.
 *
 * Runs: CLI. Signals: no. Allocates: 5 to 8 bytes an interval and type or site with blocks then, 8
 * to 12 a block that ends in another interval than its birth's, phase_log_most at most. Threads:
 * one a log; another of its own writes (change_queue.h).
 *
 * Most blocks end in the interval that they began in: these are added up by type and site.
 */
#ifndef SHINY_PHASE_LOG_H
#define SHINY_PHASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../answer/estimated.h"

/* Most bytes of a log; one that would need more is dropped. Tests lower it. */
extern size_t phase_log_most;

struct phase_log;

struct phase_log_row {
	size_t born, died; /* intervals; died >= born */
	bool stays;        /* live to the session's end: died is born */
	bool has[2];       /* [0]: counts for groups[0], a type; [1]: for groups[1], a site */
	uint32_t groups[2];
	struct estimated sum;
};

/* Makes a log. An interval includes its last nanosecond; the last one has all later events.
 * `groups`: number of types and of sites. */
struct phase_log *phase_log_create(uint64_t interval, size_t intervals, const size_t groups[2]);
void phase_log_destroy(struct phase_log *log); /* accepts NULL */

/* Adds a block of `bytes`; an end before its birth counts as at its birth. */
void phase_log_add(struct phase_log *log, uint64_t birth, uint64_t end, bool stays, uint32_t type,
		   uint32_t site, uint64_t bytes);
/* Calls `row` with all that was added, in no order. False: the log was dropped. */
bool phase_log_read(struct phase_log *log,
		    void (*row)(void *context, const struct phase_log_row *row), void *context);

#endif
