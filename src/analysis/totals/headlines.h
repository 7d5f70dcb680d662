/* SPDX-License-Identifier: Apache-2.0 */
/*
 * headlines.h: lists the facts to know before a session's numbers: failures, and what the numbers
 * leave out.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 *
 *   crashed        processes ended by a signal that programs get for their own mistakes
 *   killed         the first process, ended by another signal; others, by SIGKILL
 *   not_finished   the file ends at the last commit
 *   kept           events are of the last part of its time (SHINY_KEEP)
 *   sample         the blocks are a sample (SHINY_SAMPLE): then frees are not looked at
 *   frees          double frees, frees by the wrong function, sized deletes of the wrong size
 *   not_recorded   programs that were started and are not in the session
 *   narrowed       what the user chose to leave out
 *   second_level   objects in pools, which are in no sum
 *
 * Everything comes from tables; no event is read.
 */
#ifndef SHINY_HEADLINES_H
#define SHINY_HEADLINES_H

#include "../../answer/field.h"
#include "../query/filter.h"

struct headline {
	const char *kind;
	char *text;
	const char *verb; /* which says more; NULL: none */
};
struct headlines {
	struct headline *rows; /* worst first */
	size_t count, room;
};

/* `level`: the one that the numbers are about: a page about the second does not say that it is
 * there. */
SHINY_MUST_CHECK struct shiny_err *headlines_load(struct store *store, unsigned level,
						  struct headlines *out);
void headlines_deinit(struct headlines *headlines);

/* Programs not recorded, one row for equal ones with one parent program and one reason; those that
 * should have been recorded come first. */
struct unrecorded_row {
	char *name, *executable, *parent_name, *reason, *text; /* parent_name "": unknown */
	uint32_t pid, parent, parent_pid;		       /* of the first one; 0: unknown */
	uint64_t count, time;
	bool choice;
};
struct unrecorded {
	struct unrecorded_row *rows;
	size_t count, room;
	uint64_t missed, chosen; /* numbers of programs */
};

SHINY_MUST_CHECK struct shiny_err *unrecorded_load(struct store *store, struct unrecorded *out);
void unrecorded_deinit(struct unrecorded *unrecorded);
/* Returns "3× perl, exec'd by setpriv (pid 71): why"; the caller frees it. */
char *unrecorded_line(const struct unrecorded_row *row);
extern const struct field unrecorded_fields[]; /* of struct unrecorded: its list "not_recorded" */

#endif
