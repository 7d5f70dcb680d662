/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peak.h: finds the moments with most live bytes, of the session and of each process, and the
 * blocks live then.
 *
 * Runs: CLI. Signals: no. Allocates: about 100 bytes a row of at most PEAK_MARKS + 1 moments and
 * one a process; 8 a process and moment, and 10 KiB a moment. Threads: one a store.
 *
 * Definitions:
 *   live bytes   as requested, over all processes of the filter, as `shinyctl help definitions` has
 *                it
 *   a peak       a local maximum of live bytes, event by event: after it they fall below 1 -
 *                PEAK_FALL of it, and from the lowest point in between they rise to the next one by
 *                as much (turning points with hysteresis, as in rainflow counting of fatigue loads:
 *                ASTM E1049). The PEAK_MARKS highest are kept that reach PEAK_SHARE of the highest
 *   the moment   the event at which the highest value is reached for the first time
 *   soon         the peak's blocks that are no longer live `soon` ns after it, by default PEAK_SOON
 *                of the session's duration: the transient part of the peak; the rest outlasts it.
 *                So do blocks cut off by the end of the recording, or of a process in its last
 *                `soon` ns
 * Rows add up to the peak exactly, blocks and bytes. Types are those derived at the end, also for
 * blocks without a vptr at the time. A realloc is one step from the old size to the new one: no
 * valley.
 *
 * Cost: one pass over the events. A block is counted when it ends, for the moments at which it
 * lived: nothing is stored at its birth, and nearly all blocks that end lived at none. peak.c
 * explains how moments that may yet be exceeded are kept.
 */
#ifndef SHINY_PEAK_H
#define SHINY_PEAK_H

#include "../../answer/estimated.h"
#include "../attribute/groups.h"

enum { PEAK_MARKS = 8 };
#define PEAK_FALL  0.1
#define PEAK_SHARE 0.5
#define PEAK_SOON  0.01

struct peak_row {
	uint32_t group;   /* of peaks.groups */
	const char *name; /* name of the group; NULL: groups have no names */
	struct estimated there;
	uint64_t soon_blocks, soon_bytes; /* of these */
};
struct peak {
	uint32_t process, pid; /* id; 0: the session's peak */
	char *process_name;    /* "renderer", else the program's name; NULL: the session */
	uint64_t time;
	struct estimated there;
	uint64_t soon_blocks, soon_bytes;
	struct peak_row *rows; /* most bytes first */
	size_t count;
	size_t number;         /* of the session's peaks, from 1 */
	bool highest;          /* of these */
	bool shown;            /* the caller sets it: its rows are printed */
};
struct peaks {
	uint64_t duration, soon; /* ns; soon: the value used */
	struct peak *peaks;      /* of the session, by time; none if nothing was ever live */
	size_t count, highest;
	uint64_t most;           /* bytes of the highest */
	struct peak *processes;  /* the highest of each process; most bytes first */
	size_t process_count;
	struct groups groups;    /* owns the rows' names */
};

/* Finds the peaks. `groups`: the rows; taken over, also on failure. `soon` in ns, 0: the default
 * share of the duration. */
SHINY_MUST_CHECK struct shiny_err *peak_load(struct store *store, const struct filter *filter,
					     struct groups *groups, uint64_t soon, bool progress,
					     struct peaks *out);
/* Finds only the highest peak of the session. */
SHINY_MUST_CHECK struct shiny_err *peak_load_highest(struct store *store,
						     const struct filter *filter,
						     struct groups *groups, bool progress,
						     struct peaks *out);
void peak_deinit(struct peaks *peaks);

extern const struct field peak_fields[];  /* of struct peak */
extern const struct field peaks_fields[]; /* of struct peaks */

#endif
