/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_asked.h: requests for heap snapshots (snapshot_ask.h), and the answers to them.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SNAPSHOT_ASKED_H
#define SHINY_SNAPSHOT_ASKED_H

#include "../state/session.h"

struct snapshot_asker {
	uint32_t by;        /* the number in the file's name */
	uint64_t since;     /* wall ns */
	bool all;           /* it asks for all processes; they are not in `pids` yet */
	VEC(uint32_t) pids; /* that are still to be taken, the next one last */
	VEC(char) answer;
};
struct snapshot_queue {
	VEC(struct snapshot_asker) askers; /* the first one is being served */
};

/* A file of the session directory that asks: takes and removes it. */
void snapshot_queue_take(struct session *session, int directory, const char *file);
/* The first one asks for all processes: the pids of those that have one by now. */
void snapshot_queue_all(struct session *session);
/* To the first one: a line of the answer. */
void snapshot_queue_say(struct snapshot_queue *queue, const struct store_snapshot *r,
			uint32_t pid);
/* The same for a refusal; frees the error. */
void snapshot_queue_refuse(struct snapshot_queue *queue, uint32_t pid, struct shiny_err *err);
/* The first one has its answer. */
void snapshot_queue_answer(struct snapshot_queue *queue, const char *directory);

#endif
