/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activity.h: the heap over time: what is live, how fast it is made and freed, and the phases that
 * a run falls into.
 *
 * Runs: CLI. Signals: no. Allocates: 80 bytes an interval and process that has blocks then, what
 * page_count.h and live_groups.h say; with phases, 48 bytes a phase and type or site, and what
 * phase_log.h says. Threads: one a store.
 *
 * The session is cut into `count` intervals of `interval` ns from its start on. For each, over all
 * processes and per process:
 *   live at its end: blocks, bytes as requested, distinct types (names that the report has; blocks
 *   without one make none), 4 KiB pages
 *     and 64-byte cache lines that hold at least one live byte (F11 of "Shiny Objects", Upadhyay &
 *     Venkat, POMACS 10(1):20, 2026)
 *   in it: blocks that began and that ended, with their bytes; a realloc ends one and begins
 *   another; the most bytes live at any moment
 * An interval has what was told behind the end of the one before, up to and with its own end;
 * events that came late count where they stand. What is live is as `shinyctl help definitions` has
 * it: at the end of the last interval, what is live at the session's end; what a fork brought along
 * is nobody's here. A garbage-collected object that changes its size counts with its new one from
 * then on, what it grew by as bytes that began, what it shrank by as bytes that ended: so live
 * bytes are bytes begun less bytes ended, and less what processes held that ended before the
 * session's end.
 *
 * In a phase, what a process held at its end has ended then. Types and sites are
 * those of the block's end; its bytes the last ones.
 *
 * Cost: one pass over the events; a second one with ACTIVITY_PHASE_ROWS where phase_log.h is not
 * enough, as what is born in a phase and lives at its end can only be told once it is known where
 * phases end.
 */
#ifndef SHINY_ACTIVITY_H
#define SHINY_ACTIVITY_H

#include "../query/filter.h"
#include "phase_rows.h"

struct activity_point { /* an interval */
	uint64_t blocks, bytes, types, pages, lines;      /* live at its end */
	uint64_t most_bytes;                              /* live at any moment in it */
	uint64_t allocs, alloc_bytes, frees, free_bytes;  /* in it */
};

struct activity_series {
	uint32_t process, pid; /* 0: all processes of the filter */
	char *name;            /* "renderer", else the program's name; NULL for all */
	uint64_t start, end;   /* ns; of the process, or of the session */
	uint64_t peak_bytes, peak_blocks, peak_time; /* when most bytes were live, for the first
	                                              * time; the very event */
	uint64_t allocs, alloc_bytes, frees, free_bytes;
	struct activity_point *points; /* [count], of the intervals from `first` on: behind its end,
	                                * or before its first block, there are none */
	size_t first, count;
};
struct activity {
	uint64_t duration, interval; /* ns */
	size_t count;                /* intervals; the last one may be shorter */
	struct activity_series total;
	struct activity_series *processes; /* that have blocks; by id */
	size_t process_count;
	struct phase *phases; /* of the total; with ACTIVITY_PHASES or ACTIVITY_PHASE_ROWS */
	size_t phase_count;
};

enum {
	ACTIVITY_PHASES = 1,
	ACTIVITY_PHASE_ROWS = 2, /* phases with their types and sites */
	ACTIVITY_FULL_NAMES = 4, /* type names are not shortened */
	ACTIVITY_PROGRESS = 8,
	ACTIVITY_NO_PAGES = 16, /* pages, lines and types are 0: counting these is most of the
				 * work */
	ACTIVITY_NO_TYPES = 32, /* types are 0; not with ACTIVITY_PHASE_ROWS, which have them */
	ACTIVITY_INTERVALS_MAX = 100000,
};

/*
 * `interval` in ns; 0: the least of 1, 2, 5, 10, 20, … that makes no more than 200 intervals. One
 * that would make more than ACTIVITY_INTERVALS_MAX is a usage error.
 */
SHINY_MUST_CHECK struct shiny_err *activity_load(struct store *store, const struct filter *filter,
						 uint64_t interval, unsigned flags,
						 struct activity *out);
void activity_deinit(struct activity *activity);

/* Where an interval of a series ends, ns. */
static inline uint64_t activity_end(const struct activity *activity,
				    const struct activity_series *series, size_t point)
{
	uint64_t end = (series->first + point + 1) * activity->interval;

	return end < activity->duration ? end : activity->duration;
}

#endif
