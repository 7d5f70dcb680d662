/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contents.h: short questions about what a session holds, which several rooms ask.
 *
 * Runs: CLI. Signals: no. Allocates: no. Threads: one a store.
 */
#ifndef SHINY_CONTENTS_H
#define SHINY_CONTENTS_H

#include "store.h"

/* The number of that key in table session; 0 where there is none. */
SHINY_MUST_CHECK struct shiny_err *contents_number(struct store *store, const char *key,
						   uint64_t *value);
/* Events that are kept, and whether any are. The count reads every block's row, the other one. */
SHINY_MUST_CHECK struct shiny_err *contents_event_count(struct store *store, uint64_t *events);
SHINY_MUST_CHECK struct shiny_err *contents_has_events(struct store *store, bool *any);
/* The last block of events that has been committed; 0: there is none. */
SHINY_MUST_CHECK struct shiny_err *contents_last_block(struct store *store, uint64_t *block);

/* Processes that the file calls running; `each` stops the search by returning false. */
typedef bool contents_process_fn(void *context, int64_t pid);
SHINY_MUST_CHECK struct shiny_err *contents_each_running(struct store *store,
							 contents_process_fn *each, void *context);

#endif
