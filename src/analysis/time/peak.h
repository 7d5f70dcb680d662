/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peak.h: what was live when most was: the moments of the most live bytes, of the session and of
 * each process, and what made them up.
 *
 * Runs: CLI. Signals: no. Allocates: about 100 bytes a row of at most PEAK_MARKS + 1 moments and
 * one a process; 8 a process and moment, and 10 KiB a moment. Threads: one a store.
 *
 * Definitions:
 *   live bytes   as requested, over all processes of the filter, as `shinyctl help definitions` has
 *                it
 *   a peak       a local maximum of live bytes, event by event: behind it they fall below 1 -
 *                PEAK_FALL of it, and from the lowest point in between they rise to the next one by
 *                as much (turning points with hysteresis, as rainflow counting of fatigue loads has
 *                them: ASTM E1049). The PEAK_MARKS highest are kept that reach PEAK_SHARE of the
 *                highest
 *   the moment   the event at which the highest value is reached for the first time
 *   soon         of a peak's blocks: no longer live `soon` ns behind it, PEAK_SOON of the session's
 *                duration unless the caller says otherwise: what of the peak is transient; the rest
 *                outlasts it. What the end of the recording, or of a process in the last `soon` ns,
 *                cut off outlasts it
 * Rows add up to the peak exactly, blocks and bytes. Types are what was concluded in the end, also
 * of blocks that had shown no vptr yet. A realloc is one step from the old size to the new one: no
 * valley.
 *
 * Cost: one pass over the events. A block is counted when it ends, for the moments at which it
 * lived: that needs nothing of it at its birth, and nearly all blocks that end lived at none.
 * peak.c tells how moments are kept that may yet be exceeded.
 */
#ifndef SHINY_PEAK_H
#define SHINY_PEAK_H

#include "../attribute/groups.h"

enum { PEAK_MARKS = 8 };
#define PEAK_FALL  0.1
#define PEAK_SHARE 0.5
#define PEAK_SOON  0.01

struct peak_row {
	uint32_t group;   /* of struct peaks' groups */
	const char *name; /* its name; NULL where groups have none */
	uint64_t blocks, bytes, soon_blocks, soon_bytes;
};
struct peak {
	uint32_t process, pid; /* id; 0: of the session */
	char *process_name;    /* "renderer", else the program's name; NULL of the session */
	uint64_t time, blocks, bytes, soon_blocks, soon_bytes;
	struct peak_row *rows; /* most bytes first */
	size_t count;
};
struct peaks {
	uint64_t duration, soon; /* ns; soon: what that is here */
	struct peak *peaks;      /* of the session, by time; none where nothing was ever live */
	size_t count, highest;
	struct peak *processes;  /* each one's highest; most bytes first */
	size_t process_count;
	struct groups groups;    /* has the names */
};

/* `groups`: what makes a row; taken over, also on failure. `soon` in ns, 0: the usual share of the
 * duration. */
SHINY_MUST_CHECK struct shiny_err *peak_load(struct store *store, const struct filter *filter,
					     struct groups *groups, uint64_t soon, bool progress,
					     struct peaks *out);
/* The highest of the session alone. */
SHINY_MUST_CHECK struct shiny_err *peak_load_highest(struct store *store,
						     const struct filter *filter,
						     struct groups *groups, bool progress,
						     struct peaks *out);
void peak_deinit(struct peaks *peaks);

#endif
