/* SPDX-License-Identifier: Apache-2.0 */
/*
 * starts.h: announced starts of programs, until it is known whether these are recorded.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_STARTS_H
#define SHINY_STARTS_H

#include "../state/people.h"

struct start {
	struct ring_file *ring;    /* of the announcing process */
	uint64_t number;           /* of the notice */
	uint64_t time;             /* ticks */
	char *path;                /* the path that exec was given */
	uint32_t slot, generation; /* of the announcing process */
	uint32_t pid;              /* the program's, as the announcing process sees it; 0 unknown */
	uint32_t flags, state;
	bool cut;  /* the path has lost its beginning */
	bool exec; /* the announcing process becomes the program; else a child does */
	unsigned looks;
	uint64_t looked_wall, gone_wall; /* wall ns; 0: not yet */
	enum shiny_unrecorded why;       /* reason seen in /proc while the program ran */
	char *executable, *detail;       /* seen likewise; NULL: not seen */
};

/* The process that announced this start, or NULL. */
const struct process *starts_teller(const struct people *people, const struct start *start);
/* The id of that process; 0 unknown. */
uint32_t starts_teller_id(const struct people *people, const struct start *start);

/* Removes the start at this index, which is decided. */
void starts_forget(struct people *people, size_t index);
void starts_forget_all(struct people *people);
/* Removes a start of this pid: the program itself has said why it is not recorded. */
void starts_answered(struct people *people, uint32_t pid);

/*
 * Returns the id of the nearest recorded ancestor of process `pid`; 0 unknown. `time`: ticks.
 */
uint32_t starts_parent(const struct people *people, uint32_t pid, uint64_t time);

#endif
