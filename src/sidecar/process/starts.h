/* SPDX-License-Identifier: Apache-2.0 */
/*
 * starts.h: programs that processes of the session said they start, until it is known whether they
 * are recorded.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_STARTS_H
#define SHINY_STARTS_H

#include "../state/session.h"

struct start {
	struct ring_file *ring;    /* of the process that said it */
	uint64_t number;           /* of the notice */
	uint64_t time;             /* ticks */
	char *path;                /* as exec was given it */
	uint32_t slot, generation; /* of the process that said it */
	uint32_t pid;              /* of the program, as that process sees it; 0 not known */
	uint32_t flags, state;
	bool cut;  /* the path has lost its beginning */
	bool exec; /* who said it becomes the program; else a child of it does */
	unsigned looks;
	uint64_t looked_wall, gone_wall; /* ns, wall; 0 not yet */
	enum shiny_unrecorded why;       /* as /proc showed it while the program ran */
	char *executable, *detail;       /* likewise; NULL not seen */
};

/* The process that said it; NULL: not known, or not yet. */
const struct process *starts_teller(const struct session *session, const struct start *start);
/* Its id; 0 not known. */
uint32_t starts_teller_id(const struct session *session, const struct start *start);

/* The start at this index is decided. */
void starts_forget(struct session *session, size_t index);
void starts_forget_all(struct session *session);
/* The program with this pid has said itself why it is not recorded. */
void starts_answered(struct session *session, uint32_t pid);

/*
 * Of a process that nobody recorded: the recorded one that started it, or its ancestor; 0 not
 * known. `time` in ticks.
 */
uint32_t starts_parent(struct session *session, uint32_t pid, uint64_t time);

#endif
