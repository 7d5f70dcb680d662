/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contents.h: short queries of a session that several rooms need.
 *
 * Runs: CLI. Signals: no. Allocates: no. Threads: one a store.
 */
#ifndef SHINY_CONTENTS_H
#define SHINY_CONTENTS_H

#include "store.h"

/* Reads the number of a key in table session; 0: there is none. */
SHINY_MUST_CHECK struct shiny_err *contents_number(struct store *store, const char *key,
						   uint64_t *value);
/* Count the stored events, and tell whether there are any. The first reads every block's row, the
 * second one row. */
SHINY_MUST_CHECK struct shiny_err *contents_event_count(struct store *store, uint64_t *events);
SHINY_MUST_CHECK struct shiny_err *contents_has_events(struct store *store, bool *any);
/* Reads *from: ns from which on the events were kept (SHINY_KEEP); 0: all were. *duration: of the
 * recording. */
SHINY_MUST_CHECK struct shiny_err *contents_kept(struct store *store, uint64_t *from,
						 uint64_t *duration);
/* Reads the largest mean of the processes' samples, bytes; 0: all blocks were recorded. *changes
 * (NULL: not asked): how often their budget changed it. */
SHINY_MUST_CHECK struct shiny_err *contents_sample(struct store *store, uint64_t *mean,
						   uint64_t *changes);
/* Reads the id of the last committed block of events; 0: there is none. */
SHINY_MUST_CHECK struct shiny_err *contents_last_block(struct store *store, uint64_t *block);

/* Calls `each` for processes that are running according to the file; it ends that by returning
 * false. */
typedef bool contents_process_fn(void *context, int64_t pid);
SHINY_MUST_CHECK struct shiny_err *contents_each_running(struct store *store,
							 contents_process_fn *each, void *context);

#endif
