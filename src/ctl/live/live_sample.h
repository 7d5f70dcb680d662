/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_sample.h: reads the rows of a session that is still being written.
 *
 * Runs: CLI. Signals: no. Allocates: a row a type, call site and process; a child process has what
 * the sidecar has. Threads: one.
 *
 * Sums by type and call site are written when a recording ends. So a child process finishes the
 * events committed so far (recover.h) in a file of its own, and the rows are read from that: they
 * are those of a report of that moment. The child keeps its state: for the next sample it reads
 * only new events, and a fork of it finishes the file. Both have the lowest priority;
 * live_sample_pause() keeps them below a fifth of one processor. Rejected: the class SCHED_IDLE. On
 * a busy machine the first rows of a Chromium session took longer than 13 s.
 */
#ifndef SHINY_LIVE_SAMPLE_H
#define SHINY_LIVE_SAMPLE_H

#include <sys/types.h>

#include "../../analysis/totals/totals.h"
#include "../look/resident.h"

enum live_view { LIVE_TYPES, LIVE_SITES, LIVE_PROCESSES, LIVE_VIEWS };
extern const char *const live_view_names[LIVE_VIEWS]; /* "types" */

struct live_row {
	char *name; /* unique in its view */
	uint64_t live, live_bytes, allocs, bytes;
};
struct live_rows {
	struct live_row *at; /* sorted by name */
	size_t count, room;
};
struct live_sample {
	uint64_t clock; /* CLOCK_MONOTONIC of the request, ns */
	bool ended;     /* the session is complete: this is the last sample */
	struct totals totals;
	struct resident resident; /* the last samples */
	struct live_rows views[LIVE_VIEWS];
};
void live_sample_deinit(struct live_sample *sample);
/* Returns what a screen begins with: the moment, and what is live then; the caller frees it. */
char *live_sample_head(const struct live_sample *sample);
/* Returns the row with this name; NULL: none. */
const struct live_row *live_row_find(const struct live_rows *rows, const char *name);

/* The samples of one session. Zeroed but for `file` and `with_events`: no request yet. */
struct live_work {
	const char *file;
	bool with_events; /* the child's file has events, too; it then reads all each time */
	uint64_t clock;
	bool written; /* the session was being written at the request */
	bool asked;   /* a sample is being made */
	pid_t child;
	int line;           /* to the child; readable: the sample is there, or has failed */
	char directory[64]; /* with the child's file; "": none */
};
/* Requests a sample of now. */
SHINY_MUST_CHECK struct shiny_err *live_work_ask(struct live_work *work);
/* Waits for the sample. *path: a session file, valid until the next request; the caller frees the
 * path. *ended: the session is complete. An error stops the work. */
SHINY_MUST_CHECK struct shiny_err *live_work_file(struct live_work *work, char **path,
						  bool *ended);
/* Waits for the sample and reads it. `heap`: the kind of pools whose objects are meant; NULL:
 * blocks. An error, or the session's end, stops the work. */
SHINY_MUST_CHECK struct shiny_err *live_work_take(struct live_work *work, const char *heap,
						  struct live_sample *out);
void live_work_stop(struct live_work *work); /* drops unfinished work; may be repeated */

/* Returns the pause, ns, after a sample that took this long. */
uint64_t live_sample_pause(uint64_t took);

#endif
