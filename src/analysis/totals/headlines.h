/* SPDX-License-Identifier: Apache-2.0 */
/*
 * headlines.h: what a reader has to know of a session before its numbers: what went wrong, and what
 * the numbers leave out.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 *
 *   crashed        processes that a signal ended which programs get for their own mistakes
 *   killed         the first process, ended by another signal; others, by SIGKILL
 *   not_finished   the file ends at the last commit
 *   frees          double frees, frees by the wrong function, sized deletes of the wrong size
 *   not_recorded   programs that were started and are not in the session
 *   narrowed       what was left out because somebody asked for it
 *
 * Everything comes from tables; no event is read.
 */
#ifndef SHINY_HEADLINES_H
#define SHINY_HEADLINES_H

#include "../query/filter.h"

struct headline {
	const char *kind;
	char *text;
	const char *verb; /* which says more; NULL none */
};
struct headlines {
	struct headline *rows; /* the worst first */
	size_t count, room;
};

SHINY_MUST_CHECK struct shiny_err *headlines_load(struct store *store, struct headlines *out);
void headlines_deinit(struct headlines *headlines);

/* Programs that are not recorded, the same ones of one parent program and for one reason together;
 * those that were meant to be first. */
struct unrecorded_row {
	char *name, *executable, *parent_name, *reason, *text; /* parent_name "": not known */
	uint32_t pid, parent, parent_pid; /* of the first one; 0 unknown */
	uint64_t count, time;
	bool choice;
};
struct unrecorded {
	struct unrecorded_row *rows;
	size_t count, room;
	uint64_t missed, chosen; /* programs */
};

SHINY_MUST_CHECK struct shiny_err *unrecorded_load(struct store *store, struct unrecorded *out);
void unrecorded_deinit(struct unrecorded *unrecorded);
/* "3× perl, exec'd by setpriv (pid 71): why" */
char *unrecorded_line(const struct unrecorded_row *row);

#endif
