/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activity.h: the heap over time: live blocks, rates of allocations and frees, and the phases of a
 * run.
 *
 * Runs: CLI. Signals: no. Allocates: 152 bytes an interval and process with blocks then, what
 * page_count.h and live_groups.h say; with phases, 104 bytes a phase and type or site, and what
 * phase_log.h says. Threads: one a store.
 *
 * The session is cut into `count` intervals of `interval` ns from its start on. For each, over all
 * processes and per process:
 *   live at its end   blocks, bytes as requested, distinct types (by name, without blocks that have
 *                     none), 4 KiB pages and 64-byte cache lines with at least one live byte (F11
 *                     of "Shiny Objects", Upadhyay & Venkat, POMACS 10(1):20, 2026)
 *   in it             blocks that began and that ended, with their bytes, a realloc as both; the
 *                     most bytes and the most blocks live at any moment
 * An interval has the events after the end of the one before, up to its own end; late events count
 * at their place in the file. Live is as in `shinyctl help definitions`: at the end of the last
 * interval, live at the session's end; blocks that a fork copied are left out. A garbage-collected
 * object that changes its size counts with its new one from then on, its growth as bytes that
 * began, its loss as bytes that ended: so live bytes are bytes begun less bytes ended, less the
 * bytes of processes that ended before the session. Where blocks are a sample, each of these but
 * types, pages and lines is an estimate with its variance.
 *
 * In a phase, a process's blocks end with it. A block has the type, site and bytes of its end.
 *
 * Cost: one pass over the events; a second one with ACTIVITY_PHASE_ROWS if phase_log.h is not
 * enough, as blocks born in a phase and live at its end can only be counted once the ends of phases
 * are known.
 */
#ifndef SHINY_ACTIVITY_H
#define SHINY_ACTIVITY_H

#include "../../answer/estimated.h"
#include "../../answer/field.h"
#include "../query/filter.h"
#include "phase_rows.h"

struct activity_point { /* of an interval */
	struct estimated live; /* at its end */
	uint64_t types, pages, lines; /* of these */
	struct estimated most; /* live at any moment in it: its most blocks, and its most bytes */
	struct estimated began, ended; /* during it */
};

struct activity_series {
	uint32_t process, pid; /* 0: all processes of the filter */
	char *name;            /* "renderer", else the program's name; NULL for all */
	uint64_t start, end;   /* ns; of the process, or of the session */
	struct estimated peak; /* live at the first event with most live bytes */
	uint64_t peak_time;
	struct estimated began, ended;
	struct activity_point *points; /* [count], from interval `first` on; none before the first
				        * block or after the end */
	size_t first, count;
};
struct activity {
	uint64_t duration, interval; /* ns */
	uint64_t kept; /* ns from which on the events were kept (SHINY_KEEP): nothing is known of
			* intervals before, and blocks from before are live then, not born; 0: all
			* were */
	size_t count;                /* number of intervals; the last one may be shorter */
	struct activity_series total;
	struct activity_series *processes; /* those with blocks, by id */
	size_t process_count;
	struct phase *phases; /* of `total`; with ACTIVITY_PHASES or ACTIVITY_PHASE_ROWS */
	size_t phase_count;
};

enum {
	ACTIVITY_PHASES = 1,
	ACTIVITY_PHASE_ROWS = 2, /* phases with their types and sites */
	ACTIVITY_FULL_NAMES = 4, /* type names are not shortened */
	ACTIVITY_PROGRESS = 8,
	ACTIVITY_NO_PAGES = 16, /* leaves pages, lines and types 0: counting these is most of the
				 * work */
	ACTIVITY_NO_TYPES = 32, /* leaves types 0; not with ACTIVITY_PHASE_ROWS, which need them */
	ACTIVITY_USUAL = 100,
	ACTIVITY_INTERVALS_MAX = 100000,
};

/* Returns the least of 1, 2, 5, 10, 20, … ns that makes at most ACTIVITY_USUAL intervals. */
uint64_t activity_usual_interval(uint64_t duration);
/* Loads the activity. `interval` in ns; 0: activity_usual_interval(). More than
 * ACTIVITY_INTERVALS_MAX intervals is a usage error. */
SHINY_MUST_CHECK struct shiny_err *activity_load(struct store *store, const struct filter *filter,
						 uint64_t interval, unsigned flags,
						 struct activity *out);
void activity_deinit(struct activity *activity);

/* Returns the median of live bytes over time. */
uint64_t activity_median(const struct activity *activity);
/* True if live bytes, having risen above the middle between `steady` and the peak, stay below it
 * for at least as long as they were above: a heap that grows until it ends has no spike. */
bool activity_comes_down(const struct activity *activity, uint64_t steady);

/* Returns the end of a series' interval, ns. */
static inline uint64_t activity_end(const struct activity *activity,
				    const struct activity_series *series, size_t point)
{
	uint64_t end = (series->first + point + 1) * activity->interval;

	return end < activity->duration ? end : activity->duration;
}
/* Returns the point of the whole session; NULL: that interval is unknown. */
static inline const struct activity_point *activity_point_at(const struct activity *activity,
							     size_t interval)
{
	const struct activity_series *s = &activity->total;

	return interval >= s->first && interval - s->first < s->count
		       ? &s->points[interval - s->first]
		       : NULL;
}
static inline uint64_t activity_per_second(uint64_t count, uint64_t ns)
{
	return ns ? (uint64_t)((double)count * 1e9 / (double)ns + 0.5) : 0;
}

extern const struct field activity_fields[];
/* The measures of an interval: of struct activity_point. */
extern const struct field activity_point_fields[];

#endif
