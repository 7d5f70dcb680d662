/* SPDX-License-Identifier: Apache-2.0 */
/*
 * browser.h: compares a browser's own memory figures (src/chrome) with the session's of the same
 * moment.
 *
 * Runs: CLI. Signals: no. Allocates: a row for each type of the samples that are shown, and what
 * replay.h does. Threads: one a store.
 *
 * A dump has malloc's and Oilpan's totals, and the browser's other allocators, which the session
 * lacks. For malloc the browser counts slots and their bytes, with freed slots that wait in a
 * thread's cache or a quarantine; the session counts blocks and requested bytes. For Oilpan both
 * count whole objects, with header and rounding.
 *
 * A snapshot has `native` objects by type. The session's collected objects are spelled the same
 * way; as the snapshot has no sizes of objects with a page of their own, both sides leave these
 * sizes out. Elements have their tags as names there ("<span>"), and are not compared.
 */
#ifndef SHINY_BROWSER_H
#define SHINY_BROWSER_H

#include "../../answer/field.h"
#include "../query/filter.h"

struct browser_side {
	uint64_t objects, bytes;
};
struct browser_row {
	char *name, *kind; /* kind: of a snapshot's objects; "": an allocator */
	struct browser_side theirs, ours;
	bool is_theirs, is_ours; /* the sides that have it */
};
struct browser_sample {
	uint32_t id, process, pid;
	bool snapshot;
	uint64_t time; /* ns since the session's start */
	char *title, *process_name;
	struct browser_row *rows; /* malloc and Oilpan first, in a dump; else most bytes first */
	size_t count, room;
};
struct browser {
	struct browser_sample *samples; /* dumps, then snapshots, by process */
	size_t count, room;
	size_t dumps, snapshots; /* numbers at all times */
	bool compared;		 /* false: only the browser's side is known */
};

/* Loads the last sample of each process and page up to `until` (ns). `match`: pattern of types'
 * names in snapshots; NULL: all. */
SHINY_MUST_CHECK struct shiny_err *browser_load(struct store *store, const struct filter *filter,
						uint64_t until, const char *match,
						struct browser *out);
void browser_deinit(struct browser *browser);

extern const struct field browser_sample_fields[]; /* of struct browser_sample: its list "rows" */
extern const struct field browser_fields[];	   /* of struct browser */

#endif
