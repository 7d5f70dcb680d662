/* SPDX-License-Identifier: Apache-2.0 */
/*
 * browser.h: what a browser said of its memory (src/chrome), beside what the session has at the
 * same moment.
 *
 * Runs: CLI. Signals: no. Allocates: a row for each type of the samples that are shown, and what
 * replay.h does. Threads: one a store.
 *
 * Of a dump: malloc's and Oilpan's totals, and the browser's other allocators, which have no
 * counterpart here. The browser counts malloc's slots and their bytes, among them slots that are
 * free for the program but wait in a thread's cache or a quarantine; the session the blocks and the
 * bytes asked for. Of Oilpan both count whole objects, header and rounding included.
 *
 * Of a snapshot: its `native` objects by type. The session's collected objects are spelled the same
 * way; as the snapshot has no sizes of objects with a page of their own, theirs are left out on
 * both sides. Elements name themselves by their tags there ("<span>"), so they stand for
 * themselves.
 */
#ifndef SHINY_BROWSER_H
#define SHINY_BROWSER_H

#include "../query/filter.h"

struct browser_side {
	uint64_t objects, bytes;
};
struct browser_row {
	char *name, *kind;          /* kind: of a snapshot's objects; "" an allocator */
	struct browser_side theirs, ours;
	bool is_theirs, is_ours;    /* which of the two know it */
};
struct browser_sample {
	uint32_t id, process, pid;
	bool snapshot;
	uint64_t time;              /* ns since the session's start */
	char *title, *process_name;
	struct browser_row *rows;   /* malloc and Oilpan first, in a dump; else most bytes first */
	size_t count, room;
};
struct browser {
	struct browser_sample *samples; /* dumps, then snapshots, by process */
	size_t count, room;
	size_t dumps, snapshots;    /* of all times */
	bool compared;              /* false: the session has no events, only theirs is known */
};

/* The last sample of each process and page up to `until` (ns); `match`: of the names of snapshots'
 * types; NULL all. */
SHINY_MUST_CHECK struct shiny_err *browser_load(struct store *store, const struct filter *filter,
						uint64_t until, const char *match,
						struct browser *out);
void browser_deinit(struct browser *browser);

#endif
