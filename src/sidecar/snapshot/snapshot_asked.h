/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_asked.h: requests for heap snapshots (snapshot_ask.h), and the answers to them.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SNAPSHOT_ASKED_H
#define SHINY_SNAPSHOT_ASKED_H

#include "../../store/store.h"
#include "../state/people.h"

struct snapshot_asker {
	uint32_t by;        /* the number in the file's name */
	uint64_t since;     /* wall ns */
	bool all;           /* it asks for all processes, which are not in `pids` yet */
	VEC(uint32_t) pids; /* still to be taken, the next one last */
	VEC(char) answer;
};
struct snapshot_queue {
	VEC(struct snapshot_asker) askers; /* the first one is being served */
};

/* Takes and removes a file of the session directory that asks for a snapshot. */
void snapshot_queue_take(struct snapshot_queue **queue, int directory, const char *file);
/* Fills in the pids of the first asker, which asks for all processes. */
void snapshot_queue_all(struct snapshot_queue *queue, const struct people *people);
/* Adds a line to the first asker's answer. */
void snapshot_queue_say(struct snapshot_queue *queue, const struct store_snapshot *r,
			uint32_t pid);
/* Adds a line with a refusal; frees the error. */
void snapshot_queue_refuse(struct snapshot_queue *queue, uint32_t pid, struct shiny_err *err);
/* Writes the first asker's answer, and removes the asker. */
void snapshot_queue_answer(struct snapshot_queue *queue, const char *directory);

#endif
