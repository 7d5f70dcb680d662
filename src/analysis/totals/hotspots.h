/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotspots.h: finds the call sites and types with the most bytes at the peak and at the end, the
 * most short-lived blocks, and the most retained bytes.
 *
 * Runs: CLI. Signals: no. Allocates: HOTSPOTS_MOST rows a question. Threads: one a store.
 *
 * All of it comes from the sums that the sidecar keeps, by call site and type (tables site_stat,
 * lifetime and page): no event is read, so a billion events take as long as a thousand, and
 * sessions without events have it too. The verbs for each question read the events and find more.
 *
 * A row is the blocks of one call site that are of one type.
 *   at_peak      by the bytes live at the session's peak (sum at_peak_bytes)
 *   live         by the bytes live at the end
 *   short_lived  by the number of blocks that ended before they were as old as the largest power of
 *                two of nanoseconds within 1 % of the session
 *   retained     by the bytes that are live at the end and *late*: at most half as old as their
 *                process, again by the power of two below it. Only rows that free less than half of
 *                their blocks count: all others have some live blocks at any moment. leaks.h says
 *                whether a row grows over time.
 *
 * What every program has is one row of at_peak and live, `startup`: call sites of which the whole
 * stack lies in the C library, the C++ library and the loader, such as the pool for exceptions. A
 * call site that holds more than STARTUP_MOST a process is not one of them.
 */
#ifndef SHINY_HOTSPOTS_H
#define SHINY_HOTSPOTS_H

#include "../../answer/estimated.h"
#include "../query/filter.h"

enum { HOTSPOTS_MOST = 12, STARTUP_MOST = 256 << 10 };

struct hotspot_row {
	char *type, *container, *form, *confidence; /* of the block, as in types.h; NULL: unknown */
	bool or_derived, startup;
	char *label, *file;    /* of the call site, as in sites.h; file NULL: unknown */
	uint32_t line;         /* 0: unknown */
	struct estimated held; /* at the peak, live, short-lived or retained */
	uint64_t allocs, ended; /* of the row: began or inherited; ended */
	uint64_t median_ns; /* short_lived: median lifetime of the ended, rounded up to a power of
			     * two */
};
struct hotspot_rows {
	struct hotspot_row *rows; /* largest first, HOTSPOTS_MOST at most */
	size_t count, room;
};
/* The live bytes of all processes with one role; at_peak: those at the session's peak. */
struct hotspot_role {
	char *name;      /* "renderer", or the program's name */
	uint64_t processes, blocks, bytes, peak_bytes, allocs, at_peak_bytes;
};
struct hotspot_roles {
	struct hotspot_role *rows; /* most live bytes first */
	size_t count, room;
};
struct hotspots {
	struct hotspot_roles roles;
	struct hotspot_rows at_peak, live, short_lived, retained;
	uint64_t blocks, ended; /* blocks that began or were inherited; those that ended */
	uint64_t short_lived_blocks, short_lived_bytes;
	uint64_t short_lived_ns;		    /* shorter lifetimes are short */
	uint64_t pages, pages_bytes;                /* 4 KiB pages with live blocks at the end;
						     * bytes of these blocks */
};

/* Loads the rows. `duration`: of the session, ns. Without `all` only at_peak and live: the others
 * need tables without tags (subset.h). */
SHINY_MUST_CHECK struct shiny_err *hotspots_load(struct store *store, const struct filter *filter,
						 uint64_t duration, bool all, struct hotspots *out);
void hotspots_deinit(struct hotspots *hotspots);

#endif
