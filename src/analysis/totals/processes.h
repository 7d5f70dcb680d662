/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.h: the processes of a session in the order of their tree.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_PROCESSES_H
#define SHINY_PROCESSES_H

#include "../../answer/field.h"
#include "../query/filter.h"

struct process_row {
	uint32_t id, parent, pid, namespace_pid;
	char *name, *role, *executable, *command, *ending, *attach, *attach_text; /* never NULL */
	int status; /* exit status, or the signal if `ending` is "killed"; -1: unknown */
	uint64_t start, end, events, threads, peak_bytes, lost; /* end 0: still running */
	struct sums sums;
	unsigned depth;			 /* 0: a root of the tree */
	bool last_child;		 /* among the children of its parent */
	const struct process_row *above; /* of its parent; NULL: none */
};
struct processes {
	struct process_row *rows; /* parents before children, children by id */
	size_t count, room;
};

/* Loads the filter's processes; NULL: all of the first level. */
SHINY_MUST_CHECK struct shiny_err *
processes_load(struct store *store, const struct filter *filter, struct processes *out);
void processes_deinit(struct processes *processes);

/* Writes "│ ├─ " for a row; `room` is at least 8 bytes a level. */
void processes_branch(const struct process_row *row, char *out, size_t room);

extern const struct field process_row_fields[]; /* of struct process_row */
extern const struct field processes_fields[]; /* of struct processes: its list "rows" */

#endif
