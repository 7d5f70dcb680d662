/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_sample.h: what a session holds at a moment, while it is still being written.
 *
 * Runs: CLI. Signals: no. Allocates: a row a type, call site and process; a child process has what
 * the sidecar has. Threads: one.
 *
 * Sums by type and call site are written when a recording ends. So a child process makes the end
 * of what is committed by now (recover.h), in a file of its own, and the rows are read from that:
 * they are those of a report of that moment. The child keeps what it has read: asked again, it
 * reads only what is new, and a fork of it makes the end. Both have the lowest priority;
 * live_sample_pause() keeps them below a fifth of one processor. Rejected: the class SCHED_IDLE. On
 * a busy machine the first rows of a Chromium session took longer than 13 s.
 */
#ifndef SHINY_LIVE_SAMPLE_H
#define SHINY_LIVE_SAMPLE_H

#include <sys/types.h>

#include "../analysis/totals/totals.h"

enum live_view { LIVE_TYPES, LIVE_SITES, LIVE_PROCESSES, LIVE_VIEWS };
extern const char *const live_view_names[LIVE_VIEWS]; /* "types" */

struct live_row {
	char *name; /* no two rows of a view have the same */
	uint64_t live, live_bytes, allocs, bytes;
};
struct live_rows {
	struct live_row *at; /* by name */
	size_t count, room;
};
struct live_sample {
	uint64_t clock; /* CLOCK_MONOTONIC when it was asked for, ns */
	bool ended;     /* nobody writes the session any more: this is all */
	struct totals totals;
	struct live_rows views[LIVE_VIEWS];
};
void live_sample_deinit(struct live_sample *sample);
/* NULL: there is none of that name. */
const struct live_row *live_row_find(const struct live_rows *rows, const char *name);

/* Samples of one session; zeroed but for `file` and `with_events`: none has been asked for. */
struct live_work {
	const char *file;
	bool with_events; /* the child's file has them, too; then it reads all of them each time */
	uint64_t clock;
	bool written; /* when it was asked for, somebody wrote the session */
	bool asked;   /* a sample is being made */
	pid_t child;
	int line;           /* to it; readable: the sample is there, or has failed */
	char directory[64]; /* of the child's file; "" none */
};
/* Asks for a sample, of now. */
SHINY_MUST_CHECK struct shiny_err *live_work_ask(struct live_work *work);
/* Waits for it. *path: a session file that can be read until the next one is asked for, to be
 * freed; *ended: nobody writes it any more. On an error the work is stopped. */
SHINY_MUST_CHECK struct shiny_err *live_work_file(struct live_work *work, char **path,
						  bool *ended);
/* Waits for it and reads it. On an error, and when it has ended, the work is stopped. */
SHINY_MUST_CHECK struct shiny_err *live_work_take(struct live_work *work, struct live_sample *out);
void live_work_stop(struct live_work *work); /* unfinished work too; again: nothing */

/* How long to wait, ns, after one that took so long. */
uint64_t live_sample_pause(uint64_t took);

#endif
