/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovery_tables.h: the state of recover.c, and its reading of a session's tables. Only for
 * recover.c; recover.h has the contract.
 *
 * Runs: CLI. Signals: no. Allocates: yes, as the sidecar itself. Threads: one.
 */
#ifndef SHINY_RECOVERY_TABLES_H
#define SHINY_RECOVERY_TABLES_H

#include "../base/mem.h"
#include "state/session.h"
#include "state/session_stream.h"

struct tail {
	uint32_t frames[6], next;
};
struct recovery {
	const char *file;
	struct session *session;
	struct store *from; /* open while it is read */
	struct stream stream; /* for the functions of apply.h, which use only its process and
	                       * time */
	uint64_t until, block; /* time and number of the last event and block read */
	uint64_t committed;    /* ns until which the file had everything then */
	bool behind;
	struct store_checkpoint base; /* with which it began; number 0: with the first event */
	uint64_t keep;                /* ns of events that the file keeps; 0: all */
	VEC(struct tail) tails;
};

/* Reads the new rows that events refer to, and those that the end needs. */
SHINY_MUST_CHECK struct shiny_err *recovery_take_tables(struct recovery *recovery);
/* Copies the rows that no count depends on into the session's store. */
SHINY_MUST_CHECK struct shiny_err *recovery_copy_tables(struct recovery *recovery);

#endif
