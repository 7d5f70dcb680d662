/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_log.h: ended blocks by the intervals of their birth and end, kept until it is known which
 * intervals make a phase: so that phases need no pass over the events of their own.
 *
 * Runs: CLI. Signals: no. Allocates: 5 to 8 bytes an interval and type or site that has blocks
 * then, 8 to 12 a block that ends in another interval than it began in, phase_log_most at most.
 * Threads: one a log; the writing is done by another of its own (change_queue.h).
 *
 * Most blocks end in the interval that they began in: these are added up by type and site.
 */
#ifndef SHINY_PHASE_LOG_H
#define SHINY_PHASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes; a log that would need more holds nothing. Tests lower it. */
extern size_t phase_log_most;

struct phase_log;

struct phase_log_row {
	size_t born, died; /* intervals; the same, or died is the later one */
	bool stays;        /* until the session's end: died is born */
	bool has[2];       /* it counts for groups[0], a type; for groups[1], a site */
	uint32_t groups[2];
	uint64_t blocks, bytes;
};

/* Intervals end with their last nanosecond, the last one has all that comes behind it.
 * `groups`: how many types, sites. */
struct phase_log *phase_log_create(uint64_t interval, size_t intervals, const size_t groups[2]);
void phase_log_destroy(struct phase_log *log); /* accepts NULL */

/* A block of so many bytes; an end in front of its birth is at its birth. */
void phase_log_add(struct phase_log *log, uint64_t birth, uint64_t end, bool stays, uint32_t type,
		   uint32_t site, uint64_t bytes);
/* False: there were too many. Else `row` gets all that was added, in no order. */
bool phase_log_read(struct phase_log *log,
		    void (*row)(void *context, const struct phase_log_row *row), void *context);

#endif
