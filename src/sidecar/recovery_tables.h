/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovery_tables.h: what recover.c knows, and what it takes from a session's tables. Not for
 * others: recover.h has the contract.
 *
 * Runs: CLI. Signals: no. Allocates: yes, as the sidecar itself. Threads: one.
 */
#ifndef SHINY_RECOVERY_TABLES_H
#define SHINY_RECOVERY_TABLES_H

#include "../base/mem.h"
#include "state/session.h"

struct tail {
	uint32_t frames[6], next;
};
struct recovery {
	const char *file;
	struct session *session;
	struct store *from; /* while it is being read */
	struct stream stream; /* the functions of apply.h want one: of it they see process and
	                       * time */
	uint64_t until, block; /* of events that have been read */
	bool behind;
	VEC(struct tail) tails;
};

/* What events refer to, and what the end says of processes: the rows that are new. */
SHINY_MUST_CHECK struct shiny_err *recovery_take_tables(struct recovery *recovery);
/* What nothing is counted by, into the session's store. */
SHINY_MUST_CHECK struct shiny_err *recovery_copy_tables(struct recovery *recovery);

#endif
