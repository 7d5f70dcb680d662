/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.h: the marks of a session, with the allocations between them.
 *
 * Runs: CLI. Signals: no. Allocates: a row a mark, and what replay.h says. Threads: one a store.
 *
 * Live blocks and bytes are over all processes of the filter, as `shinyctl help definitions` has
 * it. The peak is the most live bytes at any moment from a mark to the next one, both included. If
 * the filter has tags, only blocks of these count.
 *
 * Cost: one pass over the events; none for names and times only.
 */
#ifndef SHINY_MARKS_H
#define SHINY_MARKS_H

#include "../../answer/field.h"
#include "../query/filter.h"

/* The time from a mark to the next. */
struct mark_row {
	char *name;            /* NULL: the session's start, before the first mark */
	uint32_t number;       /* among the marks of this name; 0: not asked for, or the only one */
	uint32_t process, pid, tid; /* 0: set from outside */
	uint64_t time, length; /* ns; length: to the next mark, or the session's end */
	uint64_t live, live_bytes; /* at the mark */
	uint64_t allocs, bytes, frees; /* from the mark to the next */
	uint64_t peak_bytes;
	bool counted; /* as in struct marks */
};
struct marks {
	struct mark_row *rows; /* sorted by time; [0] is the session's start */
	size_t count, room;
	uint64_t live, live_bytes; /* at the end */
	bool counted; /* the counts are known: the session has events, and they were read */
};

SHINY_MUST_CHECK struct shiny_err *marks_load(struct store *store, const struct filter *filter,
					      bool progress, struct marks *out);
/* Loads names and times only. */
SHINY_MUST_CHECK struct shiny_err *marks_read(struct store *store, const struct filter *filter,
					      struct marks *out);
/* Sets the numbers of the marks. */
void marks_number(struct marks *marks);
void marks_deinit(struct marks *marks);

extern const struct field marks_fields[]; /* of struct marks */

#endif
